"""How datasets stand now: the same rules over facts of many datasets, read in a few statements."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Case, Exists, OuterRef, Q, QuerySet, Subquery, Value, When

from alerting.models import Standing
from alerting.state import BROKEN, TROUBLED, State
from assay.catalog.profile import COMPUTED
from assay.catalog.selectors import home
from assay.models import Dataset, DataTest, Replica
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from incident_manager.intervals import Intervals, union
from incident_manager.models import ReportState, SpoiltWindow

from .rules import DataTestFact, Facts, QualityStatus, RangeRequest, judge, overdue
from .selectors import (
    JUDGES_NO_ROWS,
    LIVE,
    OF_EACH_PARTITION,
    TESTED,
    calendar_of,
    checks_of,
    is_of_each_partition,
    live_test,
    next_window,
    of_each_dataset,
    spoilt_rows,
    standing_rows,
    with_sources,
    wrong_with,
)

RECENT = timedelta(days=35)  # for so long what a user has accepted or waived is said of a dataset as a whole
MOST_NAMED = 500  # datasets of which a statement is told the ids


def statuses_now(datasets: Mapping[int, str], *, now: datetime) -> dict[int, QualityStatus]:
    """How each of these datasets (id and full name) stands, over all of its copies.

    It says what ``judge`` says of ``facts_now``, and reads less. Where a test is broken or an incident spoils the data,
    nothing else can make it better; and of most datasets nothing is wrong or missing, so that one test that passes
    makes them good. Only the others are judged.
    """
    dataset_ids = set(datasets)
    broken = Q(state__in=BROKEN) | Q(last_outcome=Outcome.BROKEN)
    untold = Q(waiver__isnull=False) | Q(data_test__revision__isnull=True)
    claimed = Q(incident__report__state=ReportState.OPEN)  # by a report that nobody has confirmed
    wrong = _wrong(dataset_ids, _not_passing(now), "data_test__dataset", bad=broken & ~untold)
    wrong |= _wrong(dataset_ids, _unhealed(), "dataset", bad=~claimed)
    bad = {id_ for id_, is_bad in wrong if is_bad}
    # ``judge`` could find a reason though nothing is wrong: a dataset waits, or its sources tell it
    due = Q(next_due_at__isnull=True) | Q(next_due_at__lte=now)
    overdue_tests = of_datasets(dataset_ids, DataTest.objects.filter(LIVE, OF_EACH_PARTITION, due), "dataset")
    requested = of_datasets(dataset_ids, _unjudged(), "data_test__dataset")
    computed = of_datasets(dataset_ids, Replica.objects.filter(storage=COMPUTED), "dataset")
    id_rows = overdue_tests.values_list("dataset").union(
        requested.values_list("data_test__dataset"), computed.values_list("dataset")
    )
    unsettled = {id_ for id_, _ in wrong} | {id_ for (id_,) in id_rows if id_ in dataset_ids}
    to_judge = {id_: datasets[id_] for id_ in unsettled - bad}
    statuses = dict.fromkeys(bad, QualityStatus.BAD)
    statuses |= {id_: judge(facts, RangeRequest()).status for id_, facts in facts_now(to_judge, now=now).items()}
    passing = Standing.objects.filter(data_test=OuterRef("pk"), state=State.PASS)
    judging = DataTest.objects.filter(Exists(passing), LIVE, dataset=OuterRef("pk")).exclude(JUDGES_NO_ROWS)
    good = set(of_datasets(dataset_ids, Dataset.objects.filter(Exists(judging)), "pk").values_list("pk", flat=True))
    return {
        id_: statuses.get(id_) or (QualityStatus.GOOD if id_ in good else QualityStatus.UNTESTED) for id_ in datasets
    }


def _wrong(dataset_ids: Set[int], rows: QuerySet[Any], dataset: str, *, bad: Q) -> set[tuple[int, bool]]:
    """The datasets that these rows belong to, each with whether some row, or some other row, is bad."""
    flag = Case(When(bad, then=Value(True)), default=Value(False), output_field=BooleanField())
    pairs = of_datasets(dataset_ids, rows, dataset).annotate(bad=flag).values_list(dataset, "bad").distinct()
    return {(id_, is_bad) for id_, is_bad in pairs if id_ in dataset_ids}


def of_datasets(dataset_ids: Collection[int], rows: QuerySet[Any], dataset: str) -> QuerySet[Any]:
    """The rows, only of these datasets if these are few.

    Of very many the database is not told the ids: to write and to read them costs more than the rows they leave out.
    """
    return rows.filter(**{f"{dataset}__in": dataset_ids} if len(dataset_ids) <= MOST_NAMED else {}).order_by()


def facts_now(datasets: Mapping[int, str], *, now: datetime) -> Mapping[int, Facts]:
    """What is known of these datasets now: what passed last, and all that is wrong or missing.

    In five statements, and one more where nothing asks for the runs of a test. Business metrics cost as much again.
    """
    if not datasets:
        return {}
    places = Replica.objects.filter(dataset__in=list(datasets)).order_by("-position")
    homes = {id_: (place, storage) for id_, place, storage in places.values_list("dataset_id", "datacenter", "storage")}
    facts = _facts(datasets, {id_: place for id_, (place, _) in homes.items()}, now)
    computed = [id_ for id_, (_, storage) in homes.items() if storage == COMPUTED]
    if not computed:
        return facts

    def of_sources(sources: Iterable[Dataset]) -> Mapping[int, Facts]:
        rows = [row for row in sources if row.replicas.all()]
        return _facts({row.pk: row.full_name for row in rows}, {row.pk: home(row).datacenter for row in rows}, now)

    return with_sources(facts, Dataset.objects.filter(pk__in=computed), of_sources)


def _facts(datasets: Mapping[int, str], homes: Mapping[int, str], now: datetime) -> Mapping[int, Facts]:
    """The same of each by itself; ``homes``: where each lies, by id."""
    tests, held, waiting = _tests(datasets, homes, now)
    by_id = {test.id: test for own in tests.values() for test in own}
    standings = standing_rows(_not_passing(now).filter(data_test__dataset__in=list(datasets)), now)
    checks = of_each_dataset(checks_of(by_id, standings), tests)
    wrong = wrong_with(spoilt_rows(_unhealed().filter(dataset__in=list(datasets))))
    for test_id, start, end in _unjudged().values_list("data_test_id", "window_start", "window_end"):
        if test_id in by_id:
            waiting[test_id].append(Window(start=start, end=end))
    # what is due by the calendar, of the few datasets for which no schedule asks for the runs of each partition
    adrift = {id_ for id_, own in tests.items() for test in own if test.judges_from and test.scheduled_to is None}
    calendars = {row.pk: calendar_of(row, now) for row in Dataset.objects.filter(pk__in=adrift)} if adrift else {}
    return {
        id_: Facts(
            dataset=name,
            tests=tests[id_],
            checks=checks.get(id_, ()),
            held={test.id: held[test.id] for test in tests[id_] if test.id in held},
            spoilt=wrong[id_].spoilt,
            claims=wrong[id_].claims,
            waiting={
                test.id: union(waiting[test.id])
                for test in tests[id_]
                if test.judges_from is not None and test.id in waiting
            },
            calendar=calendars.get(id_),
        )
        for id_, name in datasets.items()
    }


def of_category(facts: Facts, category: str) -> Facts:
    """The facts of one category, of the dataset alone."""
    return replace(
        facts,
        sources=(),
        tests=[test for test in facts.tests if test.category == category],
        checks=[check for check in facts.checks if check.test.category == category],
        held={
            test.id: facts.held[test.id] for test in facts.tests if test.id in facts.held and test.category == category
        },
        spoilt=[spoilt for spoilt in facts.spoilt if spoilt.category == category],
        claims=[claim for claim in facts.claims if claim.category == category],
    )


def _tests(
    ids: Collection[int], homes: Mapping[int, str], now: datetime
) -> tuple[Mapping[int, list[DataTestFact]], dict[int, Intervals], defaultdict[int, list[Window]]]:
    """The live tests by dataset; by test the newest window that passes, and the next one where that is overdue."""
    passing = Standing.objects.filter(data_test=OuterRef("pk"), state=State.PASS).order_by("-window_end")
    rows = DataTest.objects.filter(LIVE, dataset__in=list(ids)).annotate(
        passing_start=Subquery(passing.values("window_start")[:1]),
        passing_end=Subquery(passing.values("window_end")[:1]),
    )
    tests: dict[int, list[DataTestFact]] = defaultdict(list)
    held: dict[int, Intervals] = {}
    late: defaultdict[int, list[Window]] = defaultdict(list)
    for row in rows.order_by("name").values(*TESTED, "passing_start", "passing_end"):
        judges_from = row["created_at"] if is_of_each_partition(row) else None
        test = live_test(row, homes.get(row["dataset_id"], ""), judges_from=judges_from)
        tests[row["dataset_id"]].append(test)
        if row["passing_start"]:
            held[test.id] = (Window(start=row["passing_start"], end=row["passing_end"]),)
        late[test.id] += overdue(next_due_at=row["next_due_at"], next_window=next_window(row), due_to=None, now=now)
    return tests, held, late


def _not_passing(now: datetime) -> QuerySet[Standing]:
    """What does not pass: a trouble however old its window is, what a user has waived for five weeks."""
    open_ = Q(state__in=TROUBLED) & (Q(waiver__isnull=True) | Q(window_end__gte=now - RECENT))
    early = Q(state=State.PENDING) & ~Q(last_outcome="", error_reason="")
    learning = Q(state=State.LEARNING, window_end__gte=now - RECENT)
    return Standing.objects.filter(open_ | early | learning, data_test__retired_at__isnull=True)


def _unhealed() -> QuerySet[SpoiltWindow]:
    return SpoiltWindow.objects.filter(healed_at__isnull=True)


def _unjudged() -> QuerySet[Run]:
    return Run.objects.filter(judged_at__isnull=True, reason=RunReason.SCHEDULE)
