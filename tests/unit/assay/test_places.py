"""Which locations share data, however they are spelled."""

from pathlib import Path

import pytest

from assay.catalog.locations import overlap, place_of

PAY = "mysql://reader@shop/hr"


def shares(one: tuple[str, str], other: tuple[str, str], **environ: str) -> bool:
    """Whether two places of a storage share data; of a database, the part after ``#`` names the table."""
    places = []
    for storage, location in (one, other):
        url, _, table = location.partition("#")
        schema, _, name = table.rpartition(".")
        options = {"table": name} | ({"schema": schema} if schema else {}) if storage == "sql" else {}
        places.append(place_of(storage, url, options, environ))
    return overlap(*places) and overlap(*reversed(places))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/lake/pay", "/lake/pay/"),
        ("/lake/pay", "/lake//./pay"),
        ("/lake/pay", "file:///lake/pay"),
        ("/lake/pay", "file:///lake/%70ay"),
        ("/lake/pay", "/lake/PAY"),
        ("/lake/pay", "/lake"),
        ("/lake/pay", "/"),
        ("/lake/pay", "/lake/pay/datestr=2026-03-10"),
        ("/lake/pay", "/lake/pay/part.parquet"),
        ("/lake/p\u00e4y", "/lake/pa\u0308y"),
        ("s3://lake/pay", "s3a://lake/pay/"),
        ("s3://lake/pay", "s3n://LAKE/pay"),
        ("s3://lake/pay", "s3://lake//pay"),
        ("s3://lake/pay", "s3://lake/p%61y"),
        ("s3://lake/pay", "s3://lake/p%2561y"),
        ("s3://lake/pay", "s3://me@lake/pay"),
        ("s3://lake/pay", "s3://lake"),
        ("gs://lake/pay", "gcs://lake/pay/x"),
        ("hdfs://name:8020/pay", "hdfs:///pay"),
        ("hdfs://name:8020/pay", "hdfs://name/pay"),
        ("abfs://lake@corp.dfs.core.windows.net/pay", "abfss://lake@corp.blob.core.windows.net/pay"),
        ("abfs://lake@corp.dfs.core.windows.net/pay", "abfs://lake/pay"),
    ],
)
def test_a_folder_has_many_spellings(one: str, other: str) -> None:
    assert shares(("parquet", one), ("csv", other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/lake/pay", "/lake/payments"),
        ("/lake/pay", "/lake/trips"),
        ("s3://lake/pay", "s3://lakes/pay"),
        ("s3://lake/pay", "gs://lake/pay"),
        ("/lake/pay", "s3://lake/pay"),
        ("abfs://lake@corp.dfs.core.windows.net/pay", "abfs://lake@other.dfs.core.windows.net/pay"),
    ],
)
def test_folders_beside_each_other_share_nothing(one: str, other: str) -> None:
    assert not shares(("parquet", one), ("parquet", other))


@pytest.mark.parametrize(
    "other",
    [
        "mysql+pymysql://reader@shop/hr#pay",
        "mariadb://somebody@SHOP:3306/hr#pay",
        "mysql://reader@shop./hr#PAY",
        "mysql://reader@shop/other#hr.pay",
        "mysql://reader@shop#hr.pay",
    ],
)
def test_a_table_of_a_database_has_many_spellings(other: str) -> None:
    assert shares(("sql", f"{PAY}#pay"), ("sql", other))
    assert not shares(("sql", f"{PAY}#trips"), ("sql", other))


def test_this_machine_has_many_names() -> None:
    assert shares(("sql", "mysql://localhost/hr#pay"), ("sql", "mysql://127.0.0.1/hr#pay"))
    assert shares(("sql", "postgresql:///hr#pay"), ("sql", "postgresql+psycopg://127.0.0.2/hr#public.pay"))


@pytest.mark.parametrize(
    ("other", "is_shared"),
    [
        ("HR.Pay", True),
        ("spark_catalog.hr.pay", True),
        ("`hr`.`pay`", True),
        ("prod.hr.pay", True),
        ("hr.pay.files", True),
        ("prod.hr.pay.history", True),
        ("hr.payments", False),
        ("pay", False),
        ("mart.pay", False),
        ("hr.trips.files", False),
    ],
)
def test_a_catalog_table_has_many_spellings(other: str, is_shared: bool) -> None:
    assert shares(("table", "hr.pay"), ("table", other)) is is_shared


def test_a_catalog_table_lies_in_the_folder_of_its_database() -> None:
    assert shares(("table", "hr.pay"), ("parquet", "/warehouse/hr.db/pay"))
    assert shares(("table", "hr.pay"), ("parquet", "s3://lake/hr.db/pay/datestr=x"))
    assert shares(("table", "hr.pay"), ("parquet", "/warehouse/hr.db"))
    assert not shares(("table", "hr.pay"), ("parquet", "/warehouse/hr.db/trips"))


def test_a_table_of_an_iceberg_catalog_lies_in_the_folder_of_its_namespace() -> None:
    own = "iceberg", "iceberg://prod/hr.pay"
    assert shares(own, ("iceberg", "iceberg://prod/HR.Pay"))
    assert shares(own, ("table", "prod.hr.pay"))
    for folder in ("/warehouse/hr.db/pay", "s3://lake/warehouse/hr/pay", "s3://lake/hr/pay/metadata/1.metadata.json"):
        assert shares(own, ("iceberg", folder))
    for other in ("iceberg://prod/hr.trips", "iceberg://test/hr.pay", "s3://lake/hr/trips", "s3://lake/pay"):
        assert not shares(own, ("iceberg", other))


def test_a_link_is_the_place_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "pay").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pay")
    (tmp_path / "pay.db").touch()
    (tmp_path / "hard.db").hardlink_to(tmp_path / "pay.db")
    assert shares(("parquet", f"{tmp_path}/pay"), ("parquet", f"{tmp_path}/link/x"))
    assert shares(("sql", f"sqlite:///{tmp_path}/pay.db#t"), ("sql", f"sqlite:///{tmp_path}/hard.db#t"))
    assert not shares(("sql", f"sqlite:///{tmp_path}/pay.db#t"), ("sql", f"sqlite:///{tmp_path}/hard.db#u"))


def test_a_variable_is_the_place_that_it_stands_for() -> None:
    assert shares(("parquet", "/lake/pay"), ("parquet", "env:PAY"), PAY="/lake/pay/")
    assert shares(("parquet", "env:PAY"), ("parquet", "env:PAY"))
    assert not shares(("parquet", "/lake/pay"), ("parquet", "env:PAY"))
