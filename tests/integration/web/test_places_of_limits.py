"""The limits of a dataset hold for the place that it reads, by whatever name others read it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.contrib.auth.models import User
from pyiceberg.catalog.sql import SqlCatalog

from assay.access import Role
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.selectors import by_name, home, sensitive_columns
from assay.catalog.services import UnableToApply, apply_catalog
from assay.catalog.yaml.provider import load
from assay.config import config
from assay.models import Dataset
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE
from execution_engine.storage import table_of
from tests.factories import NOW
from tests.integration.web.people import client

PAY = """
  - name: hr.pay
    owner: hanna
    team: hr
    tier: 2
    readers: [team:hr]
    columns: {id: bigint, salary: {type: bigint, sensitive: true}}
    replicas: [{datacenter: sea, storage: %s, location: "%s"%s}]
"""
COPY = """
  - {name: mart.copy, owner: max, tier: 3, replicas: [{datacenter: sea, storage: parquet, location: /lake}]}
"""
SPY = "select max(id) as v from evil.alias having max(id) > 0"
SPELLINGS = [
    ("parquet", "/lake/pay", "/lake/pay"),
    ("parquet", "/lake/pay", "file:///lake/%70ay/"),
    ("parquet", "/lake/pay", "/lake"),
    ("parquet", "/lake/pay", "/lake/pay/datestr=2026-03-10"),
    ("parquet", "s3://lake/pay", "s3a://lake//pay/"),
    ("table", "hr.pay", "hr.pay.files"),
    ("sql", "mysql://reader@shop/hr", "mariadb://other@SHOP:3306/hr"),
]


@pytest.fixture(autouse=True)
def _roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_ALLOWED_ROOTS", '["/", "s3://lake/", "table://", "mysql://shop/", "mariadb://shop/"]')
    config.cache_clear()


def sync(tmp_path: Path, *datasets: str, source: str = "ours") -> None:
    (tmp_path / "catalog.yaml").write_text("datasets:" + "".join(datasets))
    apply_catalog(load(tmp_path / "catalog.yaml"), source=source, full=False, now=NOW)


def pay(location: str = "/lake/pay", storage: str = "parquet") -> str:
    return PAY % (storage, location, ", options: {table: pay}" if storage == "sql" else "")


def push(api: Any, location: str = "/lake/pay", storage: str = "parquet", name: str = "evil.alias", **more: Any) -> Any:
    options = {"table": "pay"} if storage == "sql" else {}
    replica = {"datacenter": "sea", "storage": storage, "location": location, "options": options}
    return api.put(f"/api/v1/datasets/{name}", {"owner": "eve", "tier": 5, "replicas": [replica], **more}, "json")


def limits(name: str = "evil.alias") -> tuple[str, str, frozenset[str]]:
    """The readers, the owner and the sensitive columns that hold for a dataset."""
    row = by_name(name)
    assert row is not None
    return row.readers, row.owner, sensitive_columns(row)


@pytest.mark.parametrize("is_pushed_first", [False, True])
@pytest.mark.parametrize(("storage", "location", "spelling"), SPELLINGS)
def test_another_name_of_a_restricted_place_has_its_limits(
    tmp_path: Path, api: Any, storage: str, location: str, spelling: str, is_pushed_first: bool
) -> None:
    if not is_pushed_first:
        sync(tmp_path, pay(location, storage))
    assert push(api, spelling, storage).status_code == 201
    if is_pushed_first:
        sync(tmp_path, pay(location, storage))
    assert (limits(), push(api, spelling, storage).status_code) == (("team:hr", "hanna", frozenset({"salary"})), 200)
    assert limits() == ("team:hr", "hanna", frozenset({"salary"}))


def test_no_test_of_another_reads_the_alias(tmp_path: Path, api: Any, user: User) -> None:
    sync(tmp_path, pay())
    push(api)
    push(api, "/lake/trips", name="raw.trips", owner="rita")
    rita, hana = client("rita", Role.OWNER), client("hana", Role.VIEWER, "hr")
    body = {"dataset": "raw.trips", "name": "spy", "assertion": f'query("{SPY}") > 0'}
    answer = rita.post("/api/v1/data-tests", body, "json")
    why = "evil.alias is shown to its readers only (team:hr)"
    assert (answer.status_code, why in answer.content.decode()) == (400, True)
    assert rita.get("/api/v1/datasets/evil.alias").status_code == 404
    assert client("eve", Role.OWNER).get("/api/v1/datasets/evil.alias").status_code == 404
    assert hana.get("/api/v1/datasets/evil.alias").status_code == 200


def test_the_limits_go_with_their_reason(tmp_path: Path, api: Any) -> None:
    sync(tmp_path, pay(), COPY)
    assert limits("mart.copy") == ("team:hr", "max", frozenset({"salary"}))
    sync(tmp_path, pay().replace("readers: [team:hr]", "description: open").replace(", sensitive: true", ""), COPY)
    assert (limits("mart.copy"), Dataset.objects.exclude(place_limits={}).exists()) == (("", "max", frozenset()), False)


def test_an_unchanged_catalog_changes_nothing(tmp_path: Path, api: Any) -> None:
    sync(tmp_path, COPY, pay())
    Dataset.objects.update(reconcile_at=None)
    sync(tmp_path, COPY, pay())
    assert not Dataset.objects.filter(reconcile_at__isnull=False).exists()


def test_a_push_limits_nothing_that_others_declare(tmp_path: Path, api: Any) -> None:
    sync(tmp_path, COPY)
    assert (push(api, "/lake", readers=["user:eve"]).status_code, limits("mart.copy")[0]) == (201, "")
    push(api, "/sea/a", name="raw.a")
    answer = push(api, "/sea", name="evil.more", readers=["user:eve"])
    assert (answer.status_code, "a push may not limit it" in answer.content.decode()) == (400, True)
    assert limits("raw.a")[0] == ""


def test_two_files_that_name_other_readers_for_one_place_are_refused(tmp_path: Path, api: Any) -> None:
    with pytest.raises(UnableToApply, match="its readers are not those of"):
        sync(tmp_path, pay(), pay("/lake/pay/x").replace("hr.pay", "fin.x").replace("team:hr", "team:fin"))
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("storage", "options"), [("json", {}), ("csv", {"header": "false"}), ("csv", {"delimiter": "|"}), ("orc", {})]
)
def test_a_sensitive_place_is_read_in_one_way(tmp_path: Path, api: Any, storage: str, options: dict[str, str]) -> None:
    sync(tmp_path, pay(storage="csv"))
    replica = {"datacenter": "sea", "storage": storage, "location": "/lake/pay", "options": options}
    answer = push(api, replicas=[replica])
    assert (answer.status_code, "in another way" in answer.content.decode()) == (400, True)
    assert by_name("evil.alias") is None


def test_a_folder_that_becomes_a_link_into_a_restricted_place_is_not_read(tmp_path: Path, api: Any) -> None:
    for name in ("pay", "innocent"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.parquet").write_text("rows")
    sync(tmp_path, pay(str(tmp_path / "pay")))
    push(api, str(tmp_path / "innocent"))
    alias = by_name("evil.alias")
    assert alias is not None
    assert list_part(table_of(alias, home(alias)), WHOLE).size > 0
    (tmp_path / "innocent" / "y.parquet").symlink_to(tmp_path / "pay" / "x.parquet")
    with pytest.raises(UnableToListFiles, match="link"):
        list_part(table_of(alias, home(alias)), WHOLE)
    (tmp_path / "innocent").rename(tmp_path / "was")
    (tmp_path / "innocent").symlink_to(tmp_path / "pay")
    with pytest.raises(UnableToUseLocation, match=r"place of hr\.pay"):
        table_of(alias, home(alias))


def test_where_a_catalog_says_that_a_table_lies_is_judged_as_any_location(
    tmp_path: Path, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("raw")
    for name, folder in (("trips", "lake/raw/trips"), ("alias", "hr/secret"), ("far", "far/away")):
        rows = pa.table({"id": [1]})
        catalog.create_table(f"raw.{name}", schema=rows.schema, location=f"file://{tmp_path}/{folder}").append(rows)
    entry = {"name": "prod", "type": "sql", "uri": catalog.properties["uri"]}
    monkeypatch.setenv("ASSAY_CATALOGS", json.dumps([entry]))
    monkeypatch.setenv("ASSAY_ALLOWED_ROOTS", json.dumps(["iceberg://prod", f"{tmp_path}/lake", f"{tmp_path}/hr"]))
    config.cache_clear()
    sync(tmp_path, pay(f"{tmp_path}/hr/secret", storage="iceberg"))
    for name in ("trips", "alias", "far"):
        answer = push(api, f"iceberg://prod/raw.{name}", "iceberg", name=f"evil.{name}")
        assert answer.status_code == 201, answer.json()
    trips = by_name("evil.trips")
    assert trips is not None
    assert list_part(table_of(trips, home(trips)), WHOLE).files
    for name, why in (("alias", "leads to the place of hr.pay, and has not its limits"), ("far", "lies outside what")):
        row = by_name(f"evil.{name}")
        assert row is not None
        with pytest.raises(UnableToUseLocation, match=why):
            table_of(row, home(row))
    config.cache_clear()
