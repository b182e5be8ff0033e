"""Where data may lie."""

import os
from pathlib import Path

import pytest

from assay.catalog.locations import LocationClaim, LocationRules, UnableToUseLocation, check, find
from assay.config import Config

RULES = LocationRules(
    roots=("/lake", "s3://lake/raw", "mysql://shop-db/", "table://mart", "iceberg://prod/mart"),
    variables=frozenset({"ORDERS_URL"}),
    own_paths=("/srv/assay/assay.db", "/srv/assay/states"),
    own_database="mysql://assay:hush@127.0.0.1:3307/assay",
)
OPEN = LocationRules(own_paths=RULES.own_paths, own_database=RULES.own_database)


def place(storage: str, location: str, *, is_trusted: bool = False, **options: str) -> LocationClaim:
    """A replica's place; a table is named where there must be one."""
    named = {"table": "orders", **options} if storage == "sql" else options
    return LocationClaim(storage=storage, location=location, options=named, is_trusted=is_trusted)


@pytest.mark.parametrize(
    ("storage", "location"),
    [
        ("parquet", "/lake"),
        ("parquet", "/lake/trips"),
        ("parquet", "file:///lake/trips"),
        ("parquet", "s3://lake/raw/trips"),
        ("parquet", "s3a://lake/raw"),
        ("parquet", "env:ORDERS_URL"),
        ("table", "mart.trips"),
        ("table", "spark_catalog.mart.`odd name`"),
        ("iceberg", "iceberg://prod/mart.trips"),
        ("iceberg", "iceberg://prod/mart.sub.trips"),
        ("sql", "mysql+mysqldb://reader@shop-db/shop"),
        ("sql", "env:ORDERS_URL"),
        ("sql", "sqlite:////lake/shop.db"),
    ],
)
def test_a_request_may_name_what_lies_under_a_root(storage: str, location: str) -> None:
    check(place(storage, location), RULES)


@pytest.mark.parametrize(
    ("storage", "location", "why"),
    [
        ("parquet", "/lakes", "outside"),
        ("parquet", "/etc", "outside"),
        ("parquet", "file:///etc", "outside"),
        ("parquet", "/lake/../etc", "'..'"),
        ("parquet", "file:///lake/%2e%2e/etc", "'..'"),
        ("parquet", "s3://lake/raw/../secret", "'..'"),
        ("parquet", "s3://lake/rawer", "outside"),
        ("parquet", "s3://lake2/raw", "outside"),
        ("parquet", "s3://lake/raw?endpoint_override=127.0.0.1:9000&scheme=http", "after ?"),
        ("parquet", "s3://key:secret@lake/raw", "password"),
        ("parquet", "http://127.0.0.1:6379/", "no file system"),
        ("parquet", "jdbc:mysql://127.0.0.1/", "absolute|no file system"),
        ("parquet", "/lake/a\nb", "control characters"),
        ("parquet", "/lake/a\0b", "control characters"),
        ("parquet", "lake/trips", "absolute"),
        ("parquet", "env:ASSAY_SECRET_KEY", "does not allow"),
        ("parquet", "env:HOME", "does not allow"),
        ("parquet", "env:ASSAY_LOCATION_ORDERS", "does not allow"),
        ("table", "parquet.`/etc/passwd`", "no name of a table"),
        ("table", "mart.trips; drop table x", "no name of a table"),
        ("table", "hr.pay", "table://DATABASE"),
        ("table", "mart.pay.files", "table://DATABASE"),
        ("table", "prod.mart.trips", "table://DATABASE"),
        ("table", "pay", "table://DATABASE"),
        ("iceberg", "iceberg://prod/hr.pay", "add iceberg://prod, or iceberg://prod/NAMESPACE, to ASSAY_ALLOWED_ROOTS"),
        ("iceberg", "iceberg://prod/marts.pay", "does not allow"),
        ("iceberg", "iceberg://test/mart.trips", "does not allow"),
        ("iceberg", "iceberg://prod/mart/trips", "is no table of a catalog"),
        ("iceberg", "iceberg://prod/mart", "names no table"),
        ("parquet", "iceberg://prod/mart.trips", "write storage: iceberg"),
        ("sql", "mysql://reader@other-db/shop", "outside"),
        ("sql", "mysql://reader@shop-db/shop?local_infile=1", "local_infile"),
        ("sql", "mysql://reader@shop-db/shop?charset=utf8", "charset"),
        ("sql", "mysql://reader:hush@shop-db/shop", "password"),
        ("sql", "mysql+asyncmy://reader@shop-db/shop", "mysqldb"),
        ("sql", "sqlite:////etc/passwd", "outside"),
        ("sql", "no url", "no database URL"),
    ],
)
def test_a_request_may_name_nothing_else(storage: str, location: str, why: str) -> None:
    with pytest.raises(UnableToUseLocation, match=why.replace("?", r"\?")):
        check(place(storage, location), RULES)


def test_without_roots_a_catalog_file_may_name_any_place_and_a_request_none() -> None:
    check(place("parquet", "/anywhere/trips", is_trusted=True), OPEN)
    check(place("sql", "mysql://reader@other-db/shop", is_trusted=True), OPEN)
    check(place("iceberg", "iceberg://prod/mart.trips", is_trusted=True), OPEN)
    elsewhere = (
        ("parquet", "/anywhere/trips"),
        ("sql", "mysql://reader@other-db/shop"),
        ("iceberg", "iceberg://prod/a.b"),
    )
    for storage, location in elsewhere:
        with pytest.raises(UnableToUseLocation, match="ASSAY_ALLOWED_ROOTS"):
            check(place(storage, location), OPEN)


def test_with_roots_a_catalog_file_is_bound_by_them_too() -> None:
    with pytest.raises(UnableToUseLocation, match="outside"):
        check(place("parquet", "/anywhere/trips", is_trusted=True), RULES)


def test_an_option_that_the_storage_does_not_know_is_refused() -> None:
    with pytest.raises(UnableToUseLocation, match="no option 'path': known here: none"):
        check(place("parquet", "/lake/trips", path="/etc"), RULES)


def test_a_catalog_file_may_name_variables_of_the_prefix_but_no_setting() -> None:
    check(place("parquet", "env:ASSAY_LOCATION_ORDERS", is_trusted=True), OPEN)
    for name in ("ASSAY_SECRET_KEY", "ASSAY_DATABASE_URL", "ASSAY_LOCATION_VARIABLES", "HOME"):
        with pytest.raises(UnableToUseLocation, match="does not allow"):
            check(place("parquet", f"env:{name}", is_trusted=True), OPEN)


def test_the_operator_cannot_allow_a_secret_by_mistake() -> None:
    with pytest.raises(ValueError, match="ASSAY_SECRET_KEY"):
        Config(location_variables=["ASSAY_SECRET_KEY"])
    with pytest.raises(ValueError, match="absolute"):
        Config(allowed_roots=["lake"])


@pytest.mark.parametrize(
    ("storage", "location", "options"),
    [
        ("sql", "sqlite:////srv/assay/assay.db", {}),
        ("sql", "mysql://assay@127.0.0.1:3307/assay", {}),
        ("sql", "mysql+pymysql://assay@127.0.0.2:3307/ASSAY", {}),
        ("sql", "mariadb://assay@localhost/assay", {}),
        ("sql", "mysql://assay@0.0.0.0:3307/other", {"schema": "assay"}),
        ("parquet", "/srv/assay/states", {}),
        ("parquet", "/srv/assay/states/x", {}),
        ("parquet", "/srv/assay", {}),
        ("parquet", "/srv", {}),
        ("parquet", "file:///srv/assay", {}),
    ],
)
def test_what_is_assays_own_is_never_data(storage: str, location: str, options: dict[str, str]) -> None:
    with pytest.raises(UnableToUseLocation, match="Assay's own"):
        check(place(storage, location, is_trusted=True, **options), OPEN)


def test_links_to_what_is_assays_own_are_followed_before_it_is_judged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "states").mkdir(parents=True)
    (home / "assay.db").write_text("rows")
    (tmp_path / "innocent").symlink_to(home / "states")
    os.link(home / "assay.db", tmp_path / "copy.db")
    rules = LocationRules(own_paths=(str(home / "states"), str(home / "assay.db")))
    for storage, location in (("parquet", f"{tmp_path}/innocent"), ("sql", f"sqlite:///{tmp_path}/copy.db")):
        with pytest.raises(UnableToUseLocation, match="Assay's own"):
            check(place(storage, location, is_trusted=True), rules)


def test_a_hidden_home_beside_the_data_is_in_nobodys_way(tmp_path: Path) -> None:
    rules = LocationRules(own_paths=(f"{tmp_path}/.assay/assay.db",))
    check(place("parquet", str(tmp_path), is_trusted=True), rules)


def test_what_a_variable_stands_for_is_judged_when_it_is_read_and_told_to_nobody() -> None:
    told = place("sql", "env:ORDERS_URL")
    assert find(told, RULES, {"ORDERS_URL": "mysql://r:hush@far/x?charset=utf8"}).location.endswith("utf8")
    for value in ("mysql://r:hush@far/x?local_infile=1", "mysql+odd://r:hush@far/x", "sqlite:////srv/assay/assay.db"):
        with pytest.raises(UnableToUseLocation) as refused:
            find(told, RULES, {"ORDERS_URL": value})
        assert not any(part in str(refused.value) for part in ("hush", "far", "/srv"))
    with pytest.raises(UnableToUseLocation, match="ORDERS_URL is not set"):
        find(told, RULES, {})


def test_a_link_may_lead_into_its_own_folder_and_under_roots(tmp_path: Path) -> None:
    (tmp_path / "trips").mkdir()
    (tmp_path / "now").symlink_to(tmp_path / "trips")
    rules = LocationRules(roots=(str(tmp_path),))
    assert find(place("parquet", f"{tmp_path}/now"), rules, {}).within == (f"{tmp_path}/trips", str(tmp_path))


def test_the_log_of_a_table_leads_to_the_tables_own_folder_alone_where_a_request_named_it() -> None:
    for storage, location in (("delta", "s3://lake/raw/t"), ("iceberg", "s3://lake/raw/t/metadata/v3.metadata.json")):
        assert find(place(storage, location), RULES, {}).within == ("s3://lake/raw/t",)
        assert find(place(storage, location, is_trusted=True), RULES, {}).within == ()
    metadata = place("iceberg", "/lake/t/metadata/v3.metadata.json")
    assert find(metadata, RULES, {}).within == ("/lake/t", "/lake")
