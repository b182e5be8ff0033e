"""When windows of a dataset were complete, on which of them tests are broken, and how much of it is tested."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Max, Q, QuerySet

from assay.catalog.selectors import slas
from assay.models import Category, Dataset, DataTest, LineageEdge, Origin
from assay.time.windows import Window
from execution_engine.freshness.derive import EVIDENCE, TIME_TO_COMPLETE
from execution_engine.language.serialise import length_shown
from execution_engine.metrics.definition import NOTE
from execution_engine.models import Heartbeat, Measurement, Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.planning.planner import hash_of
from execution_engine.services import obsolete_reason
from test_generator.coverage import DatasetCoverage, TierCoverage, coverage
from test_generator.models import Gap

from .channels import is_reachable
from .models import Standing, Waiver
from .state import BROKEN, TROUBLED, State


@dataclass(frozen=True, kw_only=True)
class Took:
    """How long a window took to be complete after its end, and how long it may by its SLA.

    A longer time counts only if the scheduled test found the window incomplete when it was due (``was_seen_late``).
    Else nobody looked in time: the files may have been written anew, or filled in later.
    """

    window: Window
    seconds: float
    allowed: timedelta
    was_seen_late: bool = False
    evidence: str = ""  # what says that it is complete: a word, and a sentence; empty for windows of older versions
    basis: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the time is that of the window, and not of files that were written again later."""
        return self.was_seen_late or self.seconds <= self.allowed.total_seconds()

    @property
    def text(self) -> str:
        """As programs print it: ``3h 20m of 4h``."""
        length, longest = (length_shown(Decimal(part)) for part in (self.seconds, self.allowed.total_seconds()))
        return f"{length} of {longest}" if self.is_known else f"not known: filled {length} after its end"


def broken_starts(tests: Iterable[int], starts: Collection[datetime]) -> frozenset[datetime]:
    """Of windows that start then those on which any of the tests, by its id, is broken, be it before it is due."""
    is_broken = Q(state__in=BROKEN) | Q(state=State.PENDING, last_outcome=Outcome.BROKEN)
    rows = Standing.objects.filter(is_broken, data_test__in=list(tests), window_start__in=list(starts))
    return frozenset(rows.values_list("window_start", flat=True))


def complete_up_to(dataset: Dataset) -> datetime | None:
    """The end of the last complete window at home before the first that is not; None where none is known.

    Windows that were never tested do not count, and windows that somebody has accepted as they are do not count either.
    """
    if (at_home := dataset.replicas.first()) is None:
        return None
    lacking = Standing.objects.filter(
        data_test__dataset=dataset,
        data_test__category=Category.FRESHNESS,
        data_test__datacenter=at_home.datacenter,
        data_test__retired_at__isnull=True,
        state__in=TROUBLED,
        waiver__isnull=True,
    )
    first = lacking.order_by("window_start").values_list("window_start", flat=True).first()
    completions = _times_to_complete(dataset, at_home.datacenter)
    if first is not None:
        completions = completions.filter(window_end__lte=first)
    last: datetime | None = completions.aggregate(last=Max("window_end"))["last"]
    return last


def times_to_complete(dataset: Dataset, datacenter: str, limit: int) -> list[Took]:
    """How long each of the last windows took in one datacenter, the newest first."""
    rows = list(_times_to_complete(dataset, datacenter).order_by("-window_start").defer("state")[:limit])
    allowed = slas(dataset).freshness
    longer = [row.window_start for row in rows if (row.value or 0.0) > allowed.total_seconds()]
    seen_incomplete = Run.objects.filter(  # by the scheduled test of freshness
        data_test__dataset=dataset,
        data_test__category=Category.FRESHNESS,
        data_test__datacenter=datacenter,
        reason=RunReason.SCHEDULE,
        outcome=Outcome.BROKEN,
        window_start__in=longer,
    )
    late = set(seen_incomplete.values_list("window_start", flat=True)) if longer else set()
    return [
        Took(
            window=row.window,
            seconds=row.value or 0.0,
            allowed=allowed,
            was_seen_late=row.window_start in late,
            evidence=row.detail.get(EVIDENCE, ""),
            basis=row.detail.get(NOTE, ""),
        )
        for row in rows
    ]


def _times_to_complete(dataset: Dataset, datacenter: str) -> QuerySet[Measurement]:
    return Measurement.objects.filter(
        dataset=dataset, datacenter=datacenter, spec_hash=hash_of(TIME_TO_COMPLETE), value__isnull=False
    )


# What is tested, and who would hear of it: the coverage of tests and of reachable owners, by tier.


@dataclass(frozen=True, kw_only=True)
class ObsoleteDataset:
    """A dataset that need not be tested, and why: its source names it no more, or it is obsolete by its commits."""

    name: str
    tier: int
    owner: str
    reason: str


def obsolete_datasets(
    *, owner: str | None = None, team: str | None = None, hidden: Collection[int] = ()
) -> list[ObsoleteDataset]:
    """The datasets that count in no coverage, the critical tiers first."""
    rows = Dataset.objects.exclude(pk__in=_in_use().values("pk")).exclude(pk__in=hidden).filter(**_whose(owner, team))
    columns = ("tier", "full_name", "owner", "missing_since", "heartbeat__last_commit_at", "heartbeat__obsolete_since")
    ordered = rows.select_related("heartbeat").only(*columns).order_by("tier", "full_name")
    return [
        ObsoleteDataset(name=row.full_name, tier=row.tier, owner=row.owner, reason=_why_unused(row)) for row in ordered
    ]


def _why_unused(dataset: Dataset) -> str:
    if dataset.missing_since is not None:
        return f"gone from its source since {dataset.missing_since:%Y-%m-%d}"
    return why_obsolete(dataset)


def why_obsolete(dataset: Dataset) -> str:
    """Why a dataset is obsolete by its commits, and so has no standard test; empty where it is not."""
    heartbeat = getattr(dataset, "heartbeat", None)
    return obsolete_reason(heartbeat) if heartbeat and heartbeat.obsolete_since else ""


def _in_use() -> QuerySet[Dataset]:
    obsolete = Heartbeat.objects.filter(obsolete_since__isnull=False)
    return Dataset.objects.filter(missing_since__isnull=True).exclude(pk__in=obsolete.values("dataset"))


def _whose(owner: str | None, team: str | None) -> dict[str, str]:
    return {name: value for name, value in (("owner", owner), ("team", team)) if value is not None}


def coverage_by_tier(*, now: datetime, owner: str | None = None, team: str | None = None) -> tuple[TierCoverage, ...]:
    """The coverage of every tier, of all datasets in use, or of one owner's or team's."""
    waivers = Waiver.objects.filter(ends_at__gt=now, ended_at__isnull=True)
    whose = _whose(owner, team)
    own = {f"dataset__{name}": value for name, value in whose.items()}
    tests = DataTest.objects.filter(origin=Origin.GENERATED, retired_at__isnull=True, **own)
    live, waived = _many_by_dataset(tests), _many_by_dataset(tests.filter(pk__in=waivers.values("data_test")))
    gaps = Counter(Gap.objects.filter(closed_at__isnull=True, mendable=True, **own).values_list("dataset", flat=True))
    rows = list(_in_use().filter(**whose).only("full_name", "tier", "owner", "team", "channels"))
    reachable = _whose_owners_are_reachable(rows)
    return coverage(
        [
            DatasetCoverage(
                dataset=row.full_name,
                tier=row.tier,
                live=live[row.pk] - waived[row.pk],
                test_count=live[row.pk] or int(not gaps[row.pk]),  # without a test or a reason, one is missing
                gaps=gaps[row.pk],
                owner=row.owner,
                is_reachable=row.pk in reachable,
            )
            for row in rows
        ]
    )


def _whose_owners_are_reachable(datasets: Iterable[Dataset]) -> frozenset[int]:
    """The ids of the datasets whose owners any channel but the log reaches."""
    groups = defaultdict[object, list[Dataset]](list)  # thousands have the same owner
    for dataset in datasets:
        groups[dataset.owner, dataset.team, *sorted(dataset.channels.items())].append(dataset)
    return frozenset(row.pk for rows in groups.values() if is_reachable(rows[0].owner, rows[0]) for row in rows)


@dataclass(frozen=True, kw_only=True)
class MissingTests:
    """What a dataset lacks: each category with its reason, empty where nobody knows one."""

    dataset: int
    tier: int
    name: str
    is_untested: bool  # it has no live test at all, not even of a user
    downstreams: int
    reasons: Mapping[str, str]


STANDARD = (Category.FRESHNESS, Category.COMPLETENESS, Category.DUPLICATES)  # of any dataset


def missing_tests(*, now: datetime, hidden: Collection[int] = ()) -> list[MissingTests]:
    """The datasets in use that lack a standard test which no test of a user makes up for.

    Untested ones come first, then the critical tiers, then what most others read.
    """
    live = DataTest.objects.filter(retired_at__isnull=True)
    generated = live.filter(origin=Origin.GENERATED)
    datasets = _in_use().exclude(pk__in=hidden)
    reasons = defaultdict[int, dict[str, str]](dict)
    for pk in datasets.exclude(pk__in=generated.values("dataset")).values_list("pk", flat=True):
        reasons[pk] = dict.fromkeys(STANDARD, "")
    waived = generated.filter(waivers__ends_at__gt=now, waivers__ended_at__isnull=True)
    for pk, category in waived.values_list("dataset", "category"):
        reasons[pk][category] = "its results are waived: nobody hears of them."
    gaps = Gap.objects.filter(closed_at__isnull=True, mendable=True)
    for pk, category, reason in gaps.values_list("dataset", "category", "reason"):
        reasons[pk][category] = reason
    for pk, category in live.filter(origin=Origin.USER).values_list("dataset", "category").distinct():
        reasons[pk].pop(category, None)
    untested = set(datasets.exclude(pk__in=live.values("dataset")).values_list("pk", flat=True))
    downstreams = Counter(dict(LineageEdge.objects.values_list("upstream").annotate(many=Count("pk"))))
    missing = [
        MissingTests(
            dataset=pk,
            tier=tier,
            name=name,
            is_untested=pk in untested,
            downstreams=downstreams[pk],
            reasons=reasons[pk],
        )
        for pk, tier, name in datasets.values_list("pk", "tier", "full_name")
        if reasons[pk]
    ]
    return sorted(missing, key=lambda row: (not row.is_untested, row.tier, -row.downstreams, row.name))


def _many_by_dataset(tests: QuerySet[DataTest]) -> Counter[int]:
    return Counter(dict(tests.order_by().values_list("dataset").annotate(many=Count("pk"))))
