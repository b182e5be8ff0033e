"""Look up what must stay: the windows in trouble, and how far back histories reach."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

from django.db.models import Q

from alerting.inhibition.selectors import USUAL_WINDOWS as USUAL_COMPLETIONS
from alerting.models import Standing
from alerting.state import TROUBLED
from assay.config import config
from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Granularity, Window
from execution_engine.freshness.derive_freshness import TIME_TO_COMPLETE
from execution_engine.freshness.rules import USUAL_WINDOWS
from execution_engine.language.operands import operands
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.planning import schedules
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Planner, UnableToPlan, Want
from execution_engine.selectors import period
from incident_manager.models import SpoiltWindow

from .rules import HistoryReach, Kept, streak_reach, terms
from .walk_table import Keeping

WRITES_HISTORY = "last="  # in the text of every assertion over past windows
WEEK = timedelta(days=7)

Metric = tuple[int, str]  # a dataset's id and a metric's name
Trouble = tuple[DataTest, Window]


def keeping(now: datetime) -> Keeping:
    """What a pass at ``now`` goes by; how far histories reach is looked up once it is asked for."""
    limits = terms(now, run_days=config().run_retention, state_days=config().state_retention)
    return Keeping(now=now, terms=limits, kept=kept(), reaches=cache(lambda: reaches(now)))


def kept() -> Kept:
    """The windows in trouble, waived or spoilt, with what the verdict on them rests on."""
    tests: defaultdict[int, list[Window]] = defaultdict(list)
    datasets: defaultdict[int, list[Window]] = defaultdict(list)
    tables: set[int] = set()
    for test, window in _troubles():
        if test.scope == Scope.TABLE:
            tables.add(test.pk)
        else:
            reach = streak_reach(sustain=test.revision.sustain, period=period(test)) if test.revision else timedelta(0)
            tests[test.pk].append(Window(start=window.start - reach, end=window.end + reach))
            datasets[test.dataset_id].append(window)
    return Kept(tests=tests, tables=tables, datasets=datasets)


def _troubles() -> Iterator[Trouble]:
    related = ("data_test__dataset", "data_test__revision")
    for wrong in (Q(state__in=TROUBLED), Q(waiver__isnull=False)):  # two indexes, so two statements
        for standing in Standing.objects.filter(wrong).select_related(*related).iterator():
            yield standing.data_test, standing.window
    spoilt = SpoiltWindow.objects.filter(healed_at__isnull=True, data_test__isnull=False)
    for row in spoilt.select_related(*related).iterator():
        assert row.data_test is not None
        yield row.data_test, row.window


def reaches(now: datetime) -> dict[Metric, HistoryReach]:
    """How far back the values of each metric serve as history."""
    rows = Dataset.objects.exclude(partition_column="").values_list("pk", "granularity")
    found = {(pk, name): reach for pk, granularity in rows for name, reach in _usual(Granularity(granularity))}
    sources = Sources(now)
    tests = DataTest.objects.filter(retired_at__isnull=True, revision__assertion__contains=WRITES_HISTORY)
    for test in tests.select_related("dataset", "revision").iterator():
        for metric, reach in _asked_by(test, sources, now):
            known = found.get(metric, HistoryReach())
            found[metric] = HistoryReach(history=max(reach, known.history), usual=known.usual)
    return found


def _usual(granularity: Granularity) -> tuple[tuple[str, HistoryReach], ...]:
    """What tells how many rows a window usually has, and how long it usually takes."""
    length = schedules.period(schedules.PARTITION, granularity)
    return (
        (ALL_ROWS.name, HistoryReach(usual=(USUAL_WINDOWS + 1) * max(WEEK, length))),
        (TIME_TO_COMPLETE.name, HistoryReach(usual=(USUAL_COMPLETIONS + 1) * length)),
    )


def _asked_by(test: DataTest, sources: Sources, now: datetime) -> Iterator[tuple[Metric, timedelta]]:
    """Each metric that the test asks of the past, and how long before a window that was."""
    home = sources(test.dataset.full_name)
    if home is None or home.partitioning is None or test.revision is None:
        return
    today = home.partitioning.at(now)
    planner = Planner(home=home, datacenter=test.datacenter, window=today, accept_from=None, source_of=sources)
    for operand in operands(from_json(test.revision.tree)):
        if isinstance(operand, History):
            for want in _past(planner, operand):
                yield (sources.dataset(want.dataset).pk, want.spec.name), today.end - want.window.start


def _past(planner: Planner, operand: History) -> tuple[Want, ...]:
    try:
        return planner.past(operand)
    except UnableToPlan:  # nothing is read for it either
        return ()
