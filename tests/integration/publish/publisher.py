"""A process that writes, audits and publishes as it is told, line by line, and whose children die while they publish.

``python -m tests.integration.publish.publisher FOLDER`` reads one JSON array from each line of its input, and
answers each with one line.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME, KEY, LEAST = "lake.trips", "2026-11-23", 50
DIED = 9


def main(home: Path) -> None:
    """Answer every line."""
    os.environ |= {"DJANGO_SETTINGS_MODULE": "assay.settings", "ASSAY_HOME": str(home / "assay")}
    import django

    django.setup()
    begin(home / "lake")
    acts: dict[str, Callable[..., Any]] = {"write": write, "judge": judge, "publish": publish}
    for line in sys.stdin:
        act, *given = json.loads(line)
        print(json.dumps(acts[act](home, *given)), flush=True)


def begin(lake: Path) -> None:
    """A catalog of one dataset with one hard test, on a day after the one that is published."""
    from datetime import UTC, datetime

    from assay import clock
    from assay.catalog.yaml.provider import load
    from assay.command_line.command import bring_up_to_date
    from test_generator.services import sync

    bring_up_to_date()
    clock.simulate(datetime(2026, 11, 22, tzinfo=UTC))
    catalog = lake.parent / "catalog.yaml"
    catalog.write_text(
        f"""
datasets:
  - name: {NAME}
    owner: zoe
    tier: 5
    columns: {{v: bigint, datestr: string}}
    partition: {{column: datestr, granularity: day, time_zone: UTC, first: 2026-11-20}}
    replicas: [{{datacenter: ams, storage: parquet, location: {lake}}}]
tests:
  - {{dataset: {NAME}, name: enough, category: custom, assertion: row_count() >= {LEAST}, severity: hard}}
"""
    )
    sync(load(catalog), source="test", now=clock.now())
    judge(lake.parent)
    clock.simulate(datetime(2026, 11, 24, 1, tzinfo=UTC))


def write(home: Path, version: int, rows: int) -> None:
    """Overwrite the partition in place: all rows hold the version."""
    import pyarrow
    from pyarrow.parquet import write_table

    folder = home / "lake" / f"datestr={KEY}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for part in range(2):
        write_table(pyarrow.table({"v": [version] * (rows // 2)}), folder / f"part-{part}.parquet")


def judge(*_: object) -> str:
    """Run all that is pending; where the hard test stands."""
    from alerting.models import Standing
    from assay.queue.drain import drain

    drain()
    return Standing.objects.get(data_test__name="enough").state if Standing.objects.exists() else ""


def publish(home: Path, pointer: str, dies_at: int | None) -> Any:
    """Publish in a child that dies at a point; whether it was published, its refusal, or the point."""
    from django.db import connection

    connection.close()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as answer:
            answer.write(json.dumps(_publish(home, pointer, dies_at, answer)))
            answer.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        told = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"died": code == DIED, "code": code, "told": json.loads(told) if code == 0 else told}


def _publish(home: Path, pointer: str, dies_at: int | None, answer: Any) -> Any:
    from assay import clock
    from assay.accounts import RequestOrigin
    from assay.catalog.selectors import by_name, window_from_text
    from incident_manager.publishing import services

    passed = put_points(dies_at, answer)
    dataset = by_name(NAME)
    assert dataset is not None
    window = window_from_text(dataset, KEY)
    asked = services.ToPublish(dataset=dataset, window=window, to=pointer, versions=str(home / "versions"))
    origin = RequestOrigin(actor="zoe", via="test")
    try:
        found = services.publish(asked, origin=origin, now=clock.now)
    except services.UnableToPublish as unable:
        return {"unable": str(unable), "points": passed}
    reasons = getattr(found, "reasons", None)
    return {"published": reasons is None, "reasons": reasons, "points": passed}


def put_points(dies_at: int | None, answer: Any) -> list[str]:
    """Number each step of publishing, before and after it; the process dies at one of them. What was passed so far."""
    from incident_manager.publishing import pointers, services

    passed: list[str] = []

    def come_by(name: str) -> None:
        passed.append(name)
        if dies_at is not None and len(passed) > dies_at:
            answer.write(name)
            answer.flush()
            os._exit(DIED)

    def around(function: Callable[..., Any], name: str, *, also_after: bool = True) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            come_by(f"before {name}")
            result = function(*args, **kwargs)
            if also_after:
                come_by(f"after {name}")
            return result

        return wrapped

    def half(path: Path, content: bytes) -> None:
        path.write_bytes(content[: len(content) // 2])
        come_by("half of the pointer is written")
        path.unlink()
        write_all(path, content)

    def half_copied(source: str, target: str) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:100])
        come_by("half of a file is copied")
        copy(source, target)

    write_all, copy = pointers._write, shutil.copyfile
    pointers._write = half
    shutil.copyfile = half_copied  # type: ignore[assignment]
    for name in ("replace", "rename"):
        setattr(os, name, around(getattr(os, name), name))
    pointers._sync = around(pointers._sync, "sync", also_after=False)
    for name in ("_intend", "_become", "_finish", "record"):
        setattr(services, name, around(getattr(services, name), name))
    return passed


if __name__ == "__main__":
    main(Path(sys.argv[1]))
