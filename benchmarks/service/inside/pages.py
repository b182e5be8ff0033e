"""Fill a database with 20,000 datasets and their past, and ask for every page and every GET of the API, one by one."""

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from urllib.parse import urlencode
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection, models
from django.test import Client
from rich.console import Console

from alerting.models import Alert, Standing
from assay import clock
from assay.access import Role
from assay.models import ChangeKind, DataChange, Dataset, Member
from assay.time.windows import Granularity, Partitioning
from benchmarks.engine.machine import machine
from benchmarks.service.clients import UnableToAsk
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Run
from incident_manager.models import EntryKind, Episode, Incident, LookUp, Publication, Report, Resolution, SpoiltWindow
from incident_manager.publication_state import PublicationState
from incident_manager.scores.metric_reporter import Group
from tests.factories import NOW
from tests.integration.web.estate import Estate, body, build
from tests.integration.web.largest import largest
from tests.integration.web.matrix import API, PAGES, lines
from web.api.base import Pages
from web.pages.scores import SPANS
from web.warm import warm_up

from .bulk import analyze
from .company import BATCH, CATEGORIES, DATACENTERS, Company, load_company
from .figures import show, write_docs

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
INCIDENTS, STILL_OPEN, REPORTS = 100_000, 300, 3000  # of a year
RUNS, LOOK_UPS, PUBLICATIONS = 100_000, 100_000, 20_000  # of 28 days
PIPELINES = 40
HEADINGS = ("", "status", "ms of CPU", "ms", "kB")
TOLERABLE = 600  # ms of CPU


def main() -> None:
    """Fills, asks and shows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.pages")
    parser.add_argument("--datasets", type=int, default=20_000, help="tables (default 20,000)")
    parser.add_argument("--only", default="", help="ask only what has this text in its address, such as scores")
    parser.add_argument("--times", type=int, default=3, help="how often each is asked after the first (default 3)")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    options, console = parser.parse_args(), Console(soft_wrap=True)
    warm_up()
    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("migrate", verbosity=0)
    clock.simulate(NOW)
    if not Dataset.objects.exists():
        fill(Company(datasets=options.datasets), NOW)
    Member.objects.get_or_create(user=User.objects.get_or_create(username="me")[0], defaults={"role": Role.ADMIN})
    Member.objects.get_or_create(user=User.objects.get_or_create(username="third")[0])
    Dataset.objects.filter(name__endswith="_of_me").delete()
    paths = [path for path in addresses(build("me", "third")) if options.only in path]
    client = Client()
    client.force_login(User.objects.get(username="me"))
    on = f"{machine()}; {connection.vendor}"
    console.print(on)
    rows = list[Sequence[str]]()
    for path in paths:
        rows.append(_row(client, path, options.times))
        console.print("  ".join(rows[-1]))  # told at once: a later one may find no answer
    show(console, HEADINGS, [row for row in rows if float(row[2].replace(",", "")) > TOLERABLE])
    if options.docs:
        write_docs(f"pages-{connection.vendor}", on, HEADINGS, rows)


def fill(company: Company, now: datetime) -> None:
    """Write the company and its past."""
    load_company(company, now)
    for model, rows in _past(company, now):
        model._default_manager.bulk_create(rows, batch_size=BATCH)
    if connection.vendor == "mysql":
        analyze({model._meta.label: model for model in apps.get_models()})
    else:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def _past(company: Company, now: datetime) -> Iterator[tuple[type[models.Model], Iterable[models.Model]]]:
    """The rows of each model; row n follows from its number alone, the oldest first."""
    days = [Partitioning(granularity=Granularity.DAY).at(now - n * DAY) for n in range(1, 29)]
    window = {"window_start": days[0].start, "window_end": days[0].end}
    tests, count = range(1, company.data_tests + 1), MetricSpec(name="row_count")

    def dataset(n: int) -> int:
        return n % company.datasets + 1

    yield Standing, (
        Standing(
            data_test_id=pk, revision_id=pk, window_key=days[0].text, state="FAIL" if pk % 2000 == 7 else "PASS",
            last_outcome="broken" if pk % 2000 == 7 else "held", sentence="completeness(email) is 1, at least 0.99",
            since=days[0].end, due_at=days[0].end + 6 * HOUR, **window,
        )
        for pk in tests
    )  # fmt: skip
    began = [now - 365 * DAY * (INCIDENTS + REPORTS - n) / (INCIDENTS + REPORTS) for n in range(INCIDENTS + REPORTS)]
    yield Alert, (
        Alert(
            pk=n + 1, dataset_id=dataset(n), category=CATEGORIES[n // company.datasets % 5], opened_at=at, told_at=at,
            open_key=f"{n}" if _is_open(n) else None, owner=f"owner_{dataset(n) % 200}", closed_at=_resolved_at(n, at),
        )
        for n, at in enumerate(began)
    )  # fmt: skip
    yield Incident, (_incident(n, dataset(n), at) for n, at in enumerate(began))
    yield (
        Episode,
        (Episode(incident_id=n + 1, opened_at=at, closed_at=_resolved_at(n, at)) for n, at in enumerate(began)),
    )
    yield SpoiltWindow, (
        SpoiltWindow(
            incident_id=n + 1, dataset_id=dataset(n), severity="hard", spoilt_at=at, healed_at=_resolved_at(n, at),
            data_test_id=(dataset(n) - 1) * len(CATEGORIES) + n // company.datasets % 5 + 1, how=_resolution(n),
            window_start=(day := at.replace(hour=0, minute=0, second=0, microsecond=0)) - DAY, window_end=day,
        )
        for n, at in enumerate(began)
    )  # fmt: skip
    yield Report, (
        Report(
            incident_id=n + 1, dataset_id=dataset(n), reporter=f"user_{n % 50}", description="Rows are missing.",
            saw="rows missing", state="fixed" if _resolution(n) else "confirmed", created_at=at, decided_at=at + HOUR,
            decided_by=f"owner_{dataset(n) % 200}", closed_at=_resolved_at(n, at), **window,
        )
        for n, at in enumerate(began)
        if _is_reported(n)
    )  # fmt: skip
    yield Run, (
        Run(
            data_test_id=n % company.data_tests + 1, revision_id=n % company.data_tests + 1, reason="schedule",
            slot=f"{n}", outcome="held", value=1.0, sentence="completeness(email) is 1, at least 0.99",
            **dict.fromkeys(("requested_at", "due_at", "planned_at", "ready_at", "evaluated_at"), at),
            judged_at=at, measured_at=at, **window,
        )
        for n, at in enumerate(now - 28 * DAY * (RUNS - n) / RUNS for n in range(RUNS))
    )  # fmt: skip
    yield Measurement, (
        Measurement(
            dataset_id=dataset(n), datacenter=DATACENTERS[0], spec=count.to_json(), spec_hash=f"{n:032}",
            spec_text=count.text, requested_at=days[0].end, measured_at=days[0].end, value=1.0, **window,
        )
        for n in range(company.datasets)
    )  # fmt: skip
    yield LookUp, (
        LookUp(
            query=UUID(int=n), dataset_id=dataset(n), at=now - 28 * DAY * (LOOK_UPS - n) / LOOK_UPS,
            failed=n % 100 == 0, incidents=[n % INCIDENTS + 1] if n % 100 == 0 else [], **window,
        )
        for n in range(LOOK_UPS)
    )  # fmt: skip
    yield DataChange, (
        DataChange(
            dataset_id=dataset(n), datacenter=DATACENTERS[0], kind=ChangeKind.COMPLETED, pipeline=f"p{n % PIPELINES}",
            at=days[0].end, followed_at=days[0].end, **window,
        )
        for n in range(company.datasets)
    )  # fmt: skip
    yield Publication, (
        Publication(
            dataset_id=dataset(n), datacenter=DATACENTERS[0], partition=f"{days[0].start:%Y-%m-%d}", author="etl",
            pointer="manifest:/lake/published", state=PublicationState.PUBLISHED, fingerprint="f" * 32,
            document={"location": "/lake", "files": [], "sha256": "0" * 64}, audited_at=days[0].end,
            ended_at=days[0].end, **window,
        )
        for n in range(PUBLICATIONS)
    )  # fmt: skip


def _is_reported(n: int) -> bool:
    return n % (INCIDENTS // REPORTS) == 0


def _is_open(n: int) -> bool:
    return n >= INCIDENTS + REPORTS - STILL_OPEN


def _resolved_at(n: int, at: datetime) -> datetime | None:
    return None if _is_open(n) else at + (n % 9 + 1) * HOUR


def _resolution(n: int) -> str:
    if _is_open(n):
        return ""
    if _is_reported(n):
        return Resolution.FIXED
    return (Resolution.AUTO, Resolution.AUTO, Resolution.ACCEPTED, Resolution.FORCED, Resolution.AUTO)[n % 5]


def _incident(n: int, dataset: int, at: datetime) -> Incident:
    return Incident(
        pk=n + 1,
        alert_id=n + 1,
        dataset_id=dataset,
        category=CATEGORIES[n // 20_000 % 5],
        kind=EntryKind.REPORTED if _is_reported(n) else EntryKind.DETECTED,
        open_key=f"{n}" if _is_open(n) else None,
        tier=dataset % 6,
        owner=f"owner_{dataset % 200}",
        team=f"team_{dataset % 40}",
        detected_at=at,
        resolved_at=_resolved_at(n, at),
        resolution=_resolution(n),
    )


def addresses(estate: Estate) -> Iterator[str]:
    """Every page and every GET of the API, as it is asked usually, by pages as long as may be, and by what it lists."""
    month = {"from": (NOW - 28 * DAY).isoformat(), "to": NOW.isoformat()}
    more: Mapping[str, Sequence[Mapping[str, object]]] = {
        "{root}": [{"page": 200}, {"status": "bad"}, {"q": "table_1"}],
        "incidents": [{"state": "resolved"}, {"q": "table_1"}],
        "scores": [{"days": days, "by": group.value} for days in SPANS for group in Group],
        "teams/{team}": [{"page": 2}],
        "api/v1/scores": [month, *({**month, "by": group.value} for group in Group), {**month, "limit": 1000}],
    }
    gets = [line.address for line in lines(API + PAGES[1:]) if line.method == "GET"]
    requests = {address: make().sent for (method, address), make in largest(estate).items() if method == "GET"}
    for address in (*gets, "metrics", "api/schema", "api/docs", "healthz", "readyz"):
        name = address.removeprefix("api/v1/")
        usual = body("GET", address, estate) if name != address else {}
        longest = [{**usual, "limit": Pages.max_limit}] if name != address and "limit" in requests[name] else []
        for sent in (usual, *longest, *more.get(address, ())):
            yield estate.address(address) + (f"?{urlencode(sent)}" if sent else "")


def _row(client: Client, path: str, times: int) -> Sequence[str]:
    """One line of the table: the median after the first answer, which warms up."""
    cpu, wall = list[float](), list[float]()
    for _ in range(times + 1):
        cache.clear()  # also of whatever answers keep
        began, used = time.perf_counter(), time.process_time()
        answer = client.get(path)
        size = len(answer.getvalue())
        cpu.append(1000 * (time.process_time() - used))
        wall.append(1000 * (time.perf_counter() - began))
    if answer.status_code >= 400:
        raise UnableToAsk(f"{path}: {answer.status_code} {answer.content[:300]!r}")
    figures = (f"{median(each[1:]):,.0f}" for each in (cpu, wall))
    return (f"`{path}`", str(answer.status_code), *figures, f"{size / 1000:,.0f}")


if __name__ == "__main__":
    main()
