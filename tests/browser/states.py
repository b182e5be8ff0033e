"""Four states of a company, as its pages may find it: empty, calm, busy and broken."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from itertools import pairwise
from types import MappingProxyType

import pyarrow as pa

from alerting.models import SliceSearch, Standing
from assay.models import Category, Dataset, DataTest, Pull
from assay.time.windows import Window
from execution_engine.attribution import Measure, cells_of, explain
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import RowsExport, Run
from execution_engine.outcome import Outcome, Reason
from execution_engine.slices.result import as_json
from incident_manager.models import Incident
from tests.browser.scene import DAYS, LAST
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
    NoticeFactory,
    ReportFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
)

ASSERTIONS = {
    Category.FRESHNESS: "freshness(complete=0.999) < 4h",
    Category.COMPLETENESS: "row_count() / row_count(dataset='raw.bestellungen') between 0.999 and 1.001",
    Category.DUPLICATES: "1 - count_distinct(id) / row_count() <= 0.001",
}
MANY = 300  # datasets of a busy company
BAD = 45  # of them
LONG = "übersicht_der_täglich_bereinigten_kundenbestellungen_aller_filialen_im_deutschsprachigen_raum_version_2"
NAMES = ("bestellungen", "Größen & Maße", "日本の売上", "заказы", "ünïcode_tëst", "trips")
OWNERS = ("ada", "Jürgen Müller-Lüdenscheidt <j.mueller-luedenscheidt@analytics.bäckerei-großhandel.example>", "佐藤")


def empty() -> Dataset | None:
    """Nobody has synced anything."""
    return None


def calm() -> Dataset:
    """Twelve tables of which all tests hold; what was wrong a week ago is healed."""
    tables = [_table(f"raw.table_{n}", tier=n % 6) for n in range(12)]
    for table in tables:
        for test in _tests(table):
            _standings(test, DAYS)
    for upstream, downstream in pairwise(tables[:4]):
        LineageEdgeFactory.create(upstream=upstream, downstream=downstream)
    _incident(tables[0], Category.COMPLETENESS, DAYS[12], healed=True)
    return tables[0]


def busy() -> Dataset:
    """Three hundred tables with long and foreign names, many of them bad; the first has 30 days of everything."""
    names = [f"lager-{n % 7}.{NAMES[n % len(NAMES)]}_{n}" for n in range(MANY - 1)]
    tables = [
        _table(name, tier=n % 6, owner=OWNERS[n % 3], team=("trips", "Süd-West Großkunden")[n % 2])
        for n, name in enumerate((f"mart.{LONG}", *names))
    ]
    tests = {table.pk: _tests(table) for table in tables}
    for table in tables[BAD:]:
        for test in tests[table.pk]:
            _standings(test, [LAST])
    for n, table in enumerate(tables[:BAD]):
        _be_bad(table, tests[table.pk], DAYS if n < 2 else DAYS[-3:], cause=n and n % 3)
    for table in tables[1:9]:
        LineageEdgeFactory.create(upstream=table, downstream=tables[0])
        LineageEdgeFactory.create(upstream=tables[0], downstream=tables[BAD + table.pk % 9], one_to_one=False)
    for n in range(30):
        _incident(tables[n % 9], Category.DUPLICATES, DAYS[n % 27], healed=True)
    for n, table in enumerate(tables[:8]):
        ReportFactory.create(dataset=table, reporter=OWNERS[n % 3], description=f"{LONG} " * 4, saw="rows missing")
    return tables[0]


def broken() -> Dataset:
    """No worker works, the catalog is refused, one table cannot be read, another has no test, a third no verdict."""
    unread, untested, waiting = (_table(name, tier=1) for name in ("raw.unlesbar", "raw.ohne_tests", "raw.wartet"))
    said = "the file part-0.parquet of 2026-03-09 cannot be read: its footer is cut off"
    for test in _tests(unread):
        _standings(test, DAYS[:-1])
        run = RunFactory.create(
            data_test=test, outcome=Outcome.ERROR, error_reason=Reason.UNREADABLE, sentence=said, value=None
        )
        StandingFactory.create(
            data_test=test, state="UNKNOWN", error_reason=Reason.UNREADABLE, sentence=said, last_run=run, value=None
        )
    for test in _tests(waiting):
        StandingFactory.create(
            data_test=test,
            state="UNKNOWN",
            last_outcome="",
            error_reason=Reason.ENGINE_UNREACHABLE,
            sentence="",
            value=None,
        )
        begun = dict.fromkeys(("planned_at", "ready_at", "evaluated_at", "judged_at", "measured_at"))
        RunFactory.create(data_test=test, requested_at=NOW - 3 * HOUR, outcome="", sentence="", value=None, **begun)
    incident = _incident(waiting, Category.FRESHNESS, LAST, test=waiting.data_tests.get(name="freshness"))
    _weigh(incident)
    late = waiting.data_tests.get(name="freshness")
    _keep_rows(late, _broken_run(late))
    NoticeFactory.create(
        alert=incident.alert, sent_at=None, channel="webhook", error="the receiver answers 502 Bad Gateway"
    )
    ReportFactory.create(dataset=untested)
    Pull.objects.create(due_at=NOW - HOUR, read_at=NOW - 3 * DAY, failing_since=NOW - 2 * DAY, fault="line 3: no tier")
    return unread


STATES: Mapping[str, Callable[[], Dataset | None]] = MappingProxyType(
    {"empty": empty, "calm": calm, "busy": busy, "broken": broken}
)


def _table(full_name: str, *, tier: int, owner: str = "ada", team: str = "trips") -> Dataset:
    namespace, _, name = full_name.partition(".")
    made: Dataset = DatasetFactory.create(namespace=namespace, name=name, tier=tier, owner=owner, team=team)
    return made


def _tests(table: Dataset) -> list[DataTest]:
    return [
        DataTestFactory.create(dataset=table, name=category.value, category=category, assertion=assertion)
        for category, assertion in ASSERTIONS.items()
    ]


def _standings(test: DataTest, windows: Iterable[Window]) -> None:
    Run.objects.bulk_create(RunFactory.build(data_test=test, window=window, value=1.0) for window in windows)
    Standing.objects.bulk_create(StandingFactory.build(data_test=test, window=window, value=1.0) for window in windows)


def _be_bad(table: Dataset, tests: list[DataTest], windows: list[Window], *, cause: int) -> None:
    """Its last day is late and incomplete; the second is because of the first."""
    late, lost, twice = tests
    _standings(twice, windows)
    roots = []
    for test in (late, lost)[: 1 + cause]:
        _standings(test, windows[:-1])
        run = _broken_run(test)
        standing = StandingFactory.create(
            data_test=test,
            state="FAIL",
            last_outcome=run.outcome,
            last_run=run,
            value=run.value,
            sentence=run.sentence,
        )
        if LONG in table.full_name:
            _explain(standing)
        incident = _incident(table, Category(test.category), LAST, test=test)
        _weigh(incident)
        _keep_rows(test, run)
        roots.append(incident.alert)
        if incident.alert is not None and incident.alert is not roots[0]:
            incident.alert.cause = roots[0]
            incident.alert.save()
        for n in range(3):
            NoticeFactory.create(alert=incident.alert, recipient=OWNERS[n], channel=("email", "webhook", "log")[n])


def _broken_run(test: DataTest) -> Run:
    """It came 5 hours late, or lost 13 % of its rows."""
    value = 5 * 3600.0 if test.category == Category.FRESHNESS else 0.8712
    assert test.revision is not None
    said = f"{test.revision.assertion} = {value:g}"
    run: Run = RunFactory.create(data_test=test, window=LAST, outcome=Outcome.BROKEN, value=value, sentence=said)
    return run


def _explain(standing: Standing) -> None:
    """One slice explains it, of a column and a value with long names."""
    column, cities = f"{LONG}.stadt", ["Frankfurt am Main, Flughafen und angrenzende Gewerbegebiete", "Berlin"]
    counts = [*([400 + 9 * (day % 3), 900 - 7 * (day % 5)] for day in range(14)), [120, 900]]
    cells = [pa.table({column: cities, "part": day}) for day in counts]
    left_out = {f"{LONG}_{number}": "more than 50 values" for number in range(9)}
    explanation = explain(cells_of(Measure.ROWS, [column], cells, left_out=left_out))
    result = as_json(explanation, MetricSpec(name="row_count"))
    SliceSearch.objects.create(standing=standing, datacenter="sea", requested_at=NOW, ended_at=NOW, result=result)


def _weigh(incident: Incident) -> None:
    """Something with a long slice explains it, and something does not."""
    assert incident.alert is not None
    reason = f"were {LONG}.stadt = 'Frankfurt am Main' as usual, it would hold: row_count() = 1300 in place of 1020"
    incident.alert.evidence = [
        {"alert": incident.alert.pk, "explains": explains, "reason": reason, "columns": []}
        for explains in (True, False)
    ]
    incident.alert.save()


def _keep_rows(test: DataTest, run: Run) -> None:
    """Two of many failing rows of a run, in a folder with a long name."""
    row = {"assay_broken": ["completeness(city)"], "id": "17", LONG: None, "note": "Größe " * 33}
    RowsExport.objects.create(
        data_test=test,
        datacenter="sea",
        place=f"{run.window_start:%Y-%m-%dT%H%MZ}",
        run=run,
        window_start=run.window_start,
        window_end=run.window_end,
        requested_at=NOW,
        written_at=NOW,
        folder=f"/quarantine/{LONG}/dataset={test.dataset.full_name}/test={test.name}",
        rows=100_000,
        is_cut=True,
        note="there are more than the 100,000 that the test keeps",
        sample=[row, row],
    )


def _incident(
    table: Dataset, category: Category, window: Window, *, healed: bool = False, test: DataTest | None = None
) -> Incident:
    detected = window.end + 6 * HOUR
    ended = {"resolved_at": detected + 5 * HOUR, "resolution": "auto", "open_key": None} if healed else {}
    incident: Incident = IncidentFactory.create(dataset=table, category=category, detected_at=detected, **ended)
    healing = {"healed_at": detected + timedelta(hours=5), "how": "auto"} if healed else {}
    SpoiltWindowFactory.create(incident=incident, data_test=test, window=window, datacenter="sea", **healing)
    return incident
