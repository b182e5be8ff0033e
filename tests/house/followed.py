"""Which files one reads to follow a metric from its text to its verdict, and a scan: what runs is seen by a profiler.

The scene is the smallest real one: SQLite, a daily table of parquet, the test ``distinct_count(x) = 3``, and Spark in
this process. A file counts if one of its functions is called. Not counted: what runs while modules are imported,
migrations, other people's code, and the start of Spark, as the same scene has run on a twin table before.
"""

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from tests.house.figures import PACKAGES, ROOT

OF_METRIC = ("plan", "scan", "evaluate", "judge")
CATALOG = "datasets:\n"
TABLE = """
  - name: raw.{name}
    owner: ann
    team: rides
    tier: 1
    columns: {{x: bigint, datestr: string}}
    partition: {{column: datestr, granularity: day, time_zone: UTC, first: 2013-01-01}}
    replicas: [{{datacenter: sea, storage: parquet, location: {name}}}]
"""
DAY = "2013-01-01"

Called = set[tuple[str, str]]  # the path and the name of a function


def followed() -> Mapping[str, list[str]]:
    """The paths of the product's files by what is followed: ``a metric``, ``a scan``."""
    with TemporaryDirectory(prefix="assay-followed-") as home:
        return _followed(Path(home))


def _followed(home: Path) -> Mapping[str, list[str]]:
    os.environ |= {
        "ASSAY_HOME": str(home),
        "ASSAY_DATABASE_URL": "",
        "ASSAY_BROKER_URL": "",
        "ASSAY_SPARK_ISOLATION": "none",
        "ASSAY_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "assay.settings",
    }
    import django

    django.setup()
    from django.core.management import call_command

    from assay import clock
    from assay.catalog.yaml.provider import load as load_catalog
    from test_generator.services import sync

    tables = ("warm_up", "numbers")
    (home / "catalog.yaml").write_text(CATALOG + "".join(TABLE.format(name=name) for name in tables))
    for name in tables:
        _write(home / name / f"datestr={DAY}")
    call_command("migrate", verbosity=0)
    sync(load_catalog(home / "catalog.yaml"), source="followed", now=clock.now())
    called = [_lived_through(f"raw.{name}") for name in tables][-1]
    return {
        "a metric": sorted({path for each in called.values() for path, _ in each}),
        "a scan": sorted({path for path, _ in called["scan"]}),
    }


def _write(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1, 2, 2, 3]}), folder / "part-0.parquet")


def _lived_through(table: str) -> Mapping[str, Called]:
    """What is called on the way of one test, by its stage; ``write`` is that of its text."""
    from django.utils.module_loading import import_string

    from alerting.models import Standing
    from assay import clock
    from assay.models import Dataset
    from assay.queue.flow import stage
    from execution_engine.models import RunReason
    from execution_engine.services import request_run
    from test_generator.services import write_data_test

    called: dict[str, Called] = {name: set() for name in ("write", *OF_METRIC)}
    dataset, now = Dataset.objects.get(full_name=table), clock.now()
    with _seen(called["write"]):
        test = write_data_test(dataset=dataset, name="three", assertion="distinct_count(x) = 3", author="ann", now=now)
    assert dataset.partitioning is not None
    window = dataset.partitioning.window(DAY)
    request_run(data_test=test, window=window, reason=RunReason.MANUAL, occasion="followed", now=now)
    for name in OF_METRIC:
        with _seen(called[name]):
            import_string(stage(name).task)()
    assert Standing.objects.get(data_test=test).state == "PASS"
    return called


@contextmanager
def _seen(called: Called) -> Iterator[None]:
    """Meanwhile note each function of the product that is called, in any thread."""
    folders = tuple(str(ROOT / package) + "/" for package in PACKAGES)

    def see(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folders) and code.co_name != "<module>":
            called.add((str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname))

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
