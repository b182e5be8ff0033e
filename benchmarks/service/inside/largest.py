"""Fill a database with a table of 10,000 partitions and 2,000 others, and ask it the largest requests, one by one."""

import argparse
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from http.client import HTTPConnection
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.models import OuterRef, Subquery
from django.test import Client
from knox.models import get_token_model
from rich.console import Console

from alerting.models import Standing
from assay import clock
from assay.catalog.place_limits import MOST
from assay.database.name_keys import name_key
from assay.models import Dataset, DataTest, Replica, Revision
from assay.time.windows import Window
from benchmarks.engine.machine import machine
from benchmarks.service.clients import UnableToAsk
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_json
from execution_engine.models import Run
from incident_manager.gate.services import MOST_OUTPUTS
from incident_manager.models import Ending, Incident, SpoiltWindow
from incident_manager.tasks import end
from web.api.gate import GateQuestion
from web.sql.tables import MOST_WORDS

from .figures import show, write_docs
from .latency import serving

DAY = timedelta(days=1)
TESTS, TABLES = 5, 2000
ASSERTION = "row_count() > 0"
HEADINGS = ("", "status", "p50 ms", "most ms", "gate meanwhile, most ms")
MOST_ASKED = GateQuestion().fields["datasets"].max_length  # type: ignore[attr-defined]

Question = tuple[str, Sequence[str], Any]  # what it is called, its paths in turn, and its body where it is a POST


def main() -> None:
    """Fills, asks and shows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.largest")
    parser.add_argument("--times", type=int, default=5, help="how often each is asked (default 5)")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    asked, console = parser.parse_args(), Console()
    call_command("migrate", verbosity=0)
    fill(lost=asked.times)
    user = User.objects.create_superuser("bench")
    browser = Client()
    browser.force_login(user)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    headers = {"Authorization": f"Token {get_token_model().objects.create(user)[1]}", "Cookie": cookies}
    on = f"{machine()}; {connection.vendor}"
    console.print(on, soft_wrap=True)
    with serving() as port:
        rows = [_row(port, headers, question, asked.times) for question in questions()]
        rows.append(_row_of_the_stage(port, headers))
    show(console, HEADINGS, rows)
    if asked.docs:
        write_docs(f"largest-{connection.vendor}", on, HEADINGS, rows)


def fill(lost: int) -> None:
    """A table whose every other partition is broken, one that is well, many without a past, and some that are lost."""
    now, names = clock.now(), ["broken", "well", *(f"table_{number}" for number in range(TABLES))]
    names += [f"lost_{number}" for number in range(lost)]
    usual = {"namespace": "lake", "owner": "ada", "tier": 2, "partition_column": "day", "granularity": "day"}
    first = f"{now - MOST * DAY:%Y-%m-%d}"
    Dataset.objects.bulk_create(
        Dataset(
            **usual, name=name, full_name=f"lake.{name}", name_key=name_key(f"lake.{name}"), source="bench",
            columns=[{"name": "id", "type": "bigint"}], first_partition=first, created_at=now - MOST * DAY,
            changed_at=now,
        )
        for name in names
    )  # fmt: skip
    datasets = list(Dataset.objects.order_by("pk"))
    Replica.objects.bulk_create(
        Replica(dataset=row, datacenter="sea", position=0, storage="parquet", location=f"/lake/{row.name}")
        for row in datasets
    )
    tree = to_json(parse(ASSERTION))
    for number in range(TESTS):
        DataTest.objects.bulk_create(
            DataTest(dataset=row, name=f"test_{number}", category="custom", origin="user", created_at=now - MOST * DAY)
            for row in datasets
        )
    tests = list(DataTest.objects.select_related("dataset"))
    Revision.objects.bulk_create(
        Revision(
            data_test=test, number=1, assertion=ASSERTION, tree=tree, severity="hard", schedule="partition",
            sustain=timedelta(0), created_at=now,
        )
        for test in tests
    )  # fmt: skip
    DataTest.objects.update(revision=Subquery(Revision.objects.filter(data_test=OuterRef("pk")).values("pk")[:1]))
    for test in DataTest.objects.filter(dataset__name__in=("broken", "well")).select_related("dataset"):
        Standing.objects.bulk_create(_standings(test), batch_size=2000)
    for test in DataTest.objects.filter(dataset__name__startswith="lost_", name="test_0").select_related("dataset"):
        _lose(test)


def _lose(test: DataTest) -> None:
    """An open incident of every window of a test: a run that was broken, the standing and the spoilt window of each."""
    dataset, at = test.dataset, clock.now() - DAY
    assert test.revision_id is not None
    incident = Incident.objects.create(
        dataset=dataset, category=test.category, open_key=f"{dataset.pk}:{test.category}", tier=dataset.tier,
        owner=dataset.owner, detected_at=at,
    )  # fmt: skip
    windows = list(_days())
    Run.objects.bulk_create(
        (
            Run(
                data_test=test, revision_id=test.revision_id, reason="schedule", slot=f"{test.pk} {window.text}",
                window_start=window.start, window_end=window.end, requested_at=at, due_at=at, accept_from=at,
                planned_at=at, evaluated_at=at, measured_at=at, judged_at=at, outcome="broken", excess=0.1,
            )
            for window in windows
        ),
        batch_size=2000,
    )  # fmt: skip
    runs = Run.objects.filter(data_test=test).in_bulk(field_name="slot")
    Standing.objects.bulk_create(
        (
            Standing(
                data_test=test, revision_id=test.revision_id, window_key=window.text, window_start=window.start,
                window_end=window.end, state="FAIL", last_outcome="broken", excess=0.1, due_at=window.end, since=at,
                last_run=runs[f"{test.pk} {window.text}"],
            )
            for window in windows
        ),
        batch_size=2000,
    )  # fmt: skip
    SpoiltWindow.objects.bulk_create(
        (
            SpoiltWindow(
                incident=incident, dataset=dataset, data_test=test, severity="hard", spoilt_at=at,
                window_start=window.start, window_end=window.end,
            )
            for window in windows
        ),
        batch_size=2000,
    )  # fmt: skip


def _days() -> Iterator[Window]:
    """The last days before today, the newest first."""
    end = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return (Window(start=end - (number + 1) * DAY, end=end - number * DAY) for number in range(MOST))


def _standings(test: DataTest) -> Iterator[Standing]:
    now = clock.now()
    assert test.revision_id is not None
    for number, window in enumerate(_days()):
        is_broken = test.dataset.name == "broken" and number % 2 == 0
        yield Standing(
            data_test=test, revision_id=test.revision_id, window_key=window.text, window_start=window.start,
            window_end=window.end, state="FAIL" if is_broken else "PASS",
            last_outcome="broken" if is_broken else "held", due_at=window.end, since=now,
        )  # fmt: skip


def questions() -> Sequence[Question]:
    """The largest of what each kind of request may ask."""
    now = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    all_days = f"{(now - MOST * DAY).isoformat()}/{now.isoformat()}"
    always = {"from": "1900-01-01T00:00:00Z", "to": "2199-12-31T00:00:00Z"}
    many = [f"lake.table_{number}" for number in range(MOST_ASKED)]
    dates = ", ".join(f"'{date(2000, 1, 1) + 2 * number * DAY}'" for number in range(6500))
    outputs = [{"dataset": name, "window": all_days} for name in many[:MOST_OUTPUTS]]
    two_centuries = [{"dataset": "lake.well", "window": "1900-01-01T00:00:00Z/2100-01-01T00:00:00Z"}]
    words = f"select a{', a' * ((MOST_WORDS - 6) // 2)} from lake.well"
    api = "/api/v1"
    incidents = Incident.objects.order_by("pk").values_list("pk", flat=True)
    look_up = f"{api}/quality?{urlencode({**always, 'dataset': 'lake.'})}"
    return (
        ("look-up, 10,000 partitions, well", [f"{look_up}well"], None),
        ("look-up, 10,000 partitions, broken", [f"{look_up}broken"], None),
        ("gate, 10,000 partitions, broken", [f"{api}/gate"], {"datasets": ["lake.broken"], "window": all_days}),
        (f"gate, {MOST_ASKED} tables never judged", [f"{api}/gate"], {"datasets": many, "window": all_days}),
        (f"query of {MOST_WORDS:,} words", [f"{api}/quality/query"], {"sql": words}),
        (
            "query of 6,500 dates",
            [f"{api}/quality/query"],
            {"sql": f"select 1 from lake.broken where day in ({dates})"},
        ),
        ("completion of 200 years", [f"{api}/pipelines/load/completed"], {"outputs": two_centuries}),
        (f"completion of {MOST_OUTPUTS} outputs", [f"{api}/pipelines/load/completed"], {"outputs": outputs}),
        ("1,000 data tests", [f"{api}/data-tests?limit=1000"], None),
        ("1,000 runs", [f"{api}/runs?limit=1000"], None),
        ("1,000 datasets", [f"{api}/datasets?limit=1000"], None),
        ("scores of all", [f"{api}/scores?{urlencode({**always, 'to': now.isoformat()})}"], None),
        ("coverage", [f"{api}/coverage"], None),
        ("catalogue page", ["/"], None),
        ("page of 10,000 partitions", ["/datasets/lake.broken"], None),
        ("page of an incident of 10,000 windows", [f"/incidents/{pk}" for pk in incidents], None),
        ("incident of 10,000 windows", [f"{api}/incidents/{pk}" for pk in incidents], None),
        ("accept of it", [f"{api}/incidents/{pk}/accept" for pk in incidents], {"reason": "the source is lost"}),
    )


def _row_of_the_stage(port: int, headers: Mapping[str, str]) -> Sequence[str]:
    """What the stage does after each of these requests; how long one incident takes it, and who asks meanwhile."""
    took: list[float] = []
    with _gate_asked(port, headers) as waited:
        while Ending.objects.filter(ended_at=None).exists():
            left = Ending.objects.filter(ended_at=None).count()
            started = time.perf_counter()
            while Ending.objects.filter(ended_at=None).count() == left:
                end()
            took.append(1000 * (time.perf_counter() - started))
    figures = (median(took), max(took), 1000 * max(waited, default=0.0))
    return ("its other windows, by the stage", "", *(f"{figure:,.0f}" for figure in figures))


def _row(port: int, headers: Mapping[str, str], question: Question, times: int) -> Sequence[str]:
    name, paths, body = question
    with _gate_asked(port, headers) as waited:
        answers = [_ask(port, headers, paths[number % len(paths)], body) for number in range(times)]
    took = [1000 * seconds for _, seconds in answers]
    figures = (median(took), max(took), 1000 * max(waited, default=0.0))
    return (name, str(answers[0][0]), *(f"{figure:,.0f}" for figure in figures))


@contextmanager
def _gate_asked(port: int, headers: Mapping[str, str]) -> Iterator[list[float]]:
    """Somebody who asks a gate of one day over and over; how long each answer took, in seconds, is in the list."""
    took: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.05):
            small = {"datasets": ["lake.well"], "window": f"{clock.now() - 2 * DAY:%Y-%m-%d}"}
            took.append(_ask(port, headers, "/api/v1/gate", small)[1])

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield took
    finally:
        ended.set()
        asking.join()


def _ask(port: int, headers: Mapping[str, str], path: str, body: Any) -> tuple[int, float]:
    """The status, and the seconds from the request to the last byte."""
    conn = HTTPConnection("127.0.0.1", port, timeout=120)
    given = None if body is None else json.dumps(body)
    started = time.perf_counter()
    conn.request("POST" if body else "GET", path, body=given, headers={**headers, "Content-Type": "application/json"})
    answer = conn.getresponse()
    said = answer.read()
    took = time.perf_counter() - started
    conn.close()
    if answer.status >= 400 and b"complete it in parts" not in said:
        raise UnableToAsk(f"{path}: {answer.status} {said[:300]!r}")
    return answer.status, took


if __name__ == "__main__":
    main()
