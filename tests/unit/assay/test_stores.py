"""Object stores as the operator names them."""

import json
from pathlib import Path

import pytest

from assay.config import Config, UnableToReadSettings, config
from assay.references import UnableToReadSecret
from assay.stores import Store, environment_of, parse_stores, read_only_fault, store_of, stores_as_json

MINIO = {"prefix": "s3://lake", "endpoint": "http://minio:9000", "access_key": "env:KEY", "secret_key": "env:SECRET"}


def test_the_store_of_a_location_has_the_longest_prefix_that_holds_it() -> None:
    lake, trips, other = (Store(prefix=prefix) for prefix in ("s3://lake", "s3a://lake/trips/", "gs://lake"))
    of = {
        "s3://lake/fares": lake,
        "s3a://lake": lake,
        "s3n://lake/trips/2026": trips,
        "s3://lake/tripsters": lake,
        "gs://lake/x": other,
        "s3://lakehouse": None,
        "/lake": None,
    }
    assert {place: store_of(place, (lake, trips, other)) for place in of} == of
    assert store_of("s3://any/where", [Store(prefix="s3://")]) == Store(prefix="s3://")


def test_a_read_only_store_refuses_what_lies_in_it_alone() -> None:
    stores = parse_stores(json.dumps([{"prefix": "s3://lake", "read_only": True}, {"prefix": "s3://lake/out"}]))
    assert read_only_fault("s3a://lake/states", stores).startswith(
        "the store s3://lake is read_only in ASSAY_STORES, so nothing is written to s3a://lake/states: name a place in"
    )
    assert [read_only_fault(place, stores) for place in ("s3://lake/out/x", "s3://other", "/lake")] == ["", "", ""]


def test_stores_are_read_from_json_and_from_a_file_alike(tmp_path: Path) -> None:
    (tmp_path / "stores.yaml").write_text(json.dumps([MINIO]))
    stores = parse_stores(str(tmp_path / "stores.yaml"))
    assert stores == parse_stores(json.dumps([MINIO])) == (Store(**MINIO),)  # type: ignore[arg-type]
    assert parse_stores(stores_as_json(stores)) == stores
    assert Config(stores=str(tmp_path / "stores.yaml")).object_stores == stores


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ([{"endpoint": "http://minio"}], "store 1 has no prefix: write prefix: s3://BUCKET"),
        ({"prefix": "s3://lake"}, "write a list of stores"),
        ([{"prefix": "lake"}], r"store 1 \(lake\): its prefix is no URL of a store: begin with one of s3://, .*"),
        ([MINIO | {"secretkey": "env:X"}], "s3:// takes no secretkey; did you mean secret_key?"),
        ([MINIO | {"secret_key": "AKIAIOSFODNN7"}], "secret_key is no reference: write env:NAME, .* or file:/PATH"),
        ([MINIO | {"endpoint": "minio:9000"}], "endpoint is no address: write http://HOST:PORT or https://HOST"),
        ([MINIO | {"path_style": "yes"}], "path_style is no true or false"),
        ([{"prefix": "s3://lake", "access_key": "env:KEY"}], "give access_key and secret_key both, or neither"),
        ([{"prefix": "gs://lake", "region": "eu"}], "gs:// takes no region: it takes anonymous, endpoint, read_only"),
        ([MINIO, MINIO | {"prefix": "s3a://lake/"}], "two stores have the prefix s3://lake: keep one of them"),
        ("nowhere.yaml", "the file nowhere.yaml cannot be read: No such file or directory"),
        ('[{"prefix"', "it is no JSON: .*"),
    ],
)
def test_a_wrong_setting_is_a_sentence_that_holds_no_secret(
    entry: object, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORES", entry if isinstance(entry, str) else json.dumps(entry))
    config.cache_clear()
    with pytest.raises(UnableToReadSettings, match=rf"^ASSAY_STORES: .*{sentence}".replace("?", r"\?")) as wrong:
        config()
    config.cache_clear()
    assert "AKIAIOSFODNN7" not in str(wrong.value)


def test_a_secret_is_read_where_its_reference_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("from a file\n")
    store = Store(prefix="s3://lake", access_key="env:KEY", secret_key=f"file:{tmp_path / 'key'}")
    monkeypatch.setenv("KEY", "from a variable")
    assert (store.secret("access_key"), store.secret("secret_key")) == ("from a variable", "from a file")
    assert "from a" not in f"{store} {stores_as_json([store])}"
    assert Store(prefix="s3://lake", proxy="http://proxy:3128").secret("proxy") == "http://proxy:3128"
    monkeypatch.delenv("KEY")
    with pytest.raises(UnableToReadSecret, match="takes its access_key from KEY, which is not set: set it where"):
        store.secret("access_key")
    (tmp_path / "key").unlink()
    with pytest.raises(UnableToReadSecret, match=r"from the file /.*key, which cannot be read \(No such file"):
        store.secret("secret_key")


def test_another_process_sees_what_its_stores_refer_to_alone() -> None:
    here = {"KEY": "k", "SECRET": "s", "AWS_PROFILE": "p", "HOME": "/nowhere", "ASSAY_SECRET_KEY": "x"}
    minio, amazon = parse_stores(json.dumps([MINIO, {"prefix": "s3://else"}]))
    assert environment_of([minio], here) == {"KEY": "k", "SECRET": "s", "ASSAY_STORES": stores_as_json([minio])}
    assert environment_of([minio, amazon], here).keys() == {"KEY", "SECRET", "AWS_PROFILE", "ASSAY_STORES"}
    assert environment_of([], here) == {}
