"""What was caught of the errors that were put in: by kind and share, by column, and by which suggestion (pure)."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from assay.time.windows import Partitioning, Window
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_text
from execution_engine.language.templates import render, templates
from execution_engine.language.tree import By, History, HistoryFunction, Metric, Operand, operands, postorder
from execution_engine.metrics.definition import ArgumentType, At, Kind
from execution_engine.metrics.registry import METRICS, SIGNATURES

from .injector import ErrorKind

# Which tests can be judged on a copy of one window, as what assertion, and why others cannot (pure).

WHOLE_TABLE = "it judges the whole table, and a copy is of one window"
OTHER_PLACE = "it runs in {}, and the copies are of {}"
_OF_METRICS = {
    "freshness": "it asks when the data came, and a copy has no such time",
    "query": "its query names tables by itself, and a copy has no name",
    "schema_drift": "it compares names and types with the catalog, and no error here changes these",
    "unpartitioned_rows": "it looks at the keys of all partitions, and a copy is of one",
}
JUDGED_ANYWAY = "novelty is judged by itself, beside the windows before"
_DATACENTER = "it compares with datacenter {}, and nothing is read there"
_AGO_OF_OTHER = "it compares with an earlier window of {}, and only the same window is read there"
_PAST_OF_OTHER = "it compares with the past of {}, and only the same window is read there"
_AGO_IN_GROUPS = "it compares groups with those of an earlier window, whose groups nobody keeps"
_MOVING_PAST = "its SQL names the window, so each window of the past would have another"
_DERIVED = "{} is measured by the service alone"


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The other datasets that an assertion reads: those in the same window, and those as a whole."""

    windows: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()


ALONE = Beside()


def why_not(assertion: str) -> str | None:
    """Why the assertion cannot be judged on a copy of a window; None where it can."""
    tree = parse(assertion)
    return next((why for operand in operands(tree) for why in _against(operand, by=isinstance(tree, By))), None)


def _against(operand: Operand, *, by: bool) -> Iterator[str]:
    metric = operand.metric if isinstance(operand, History) else operand
    name, definition = metric.spec.name, METRICS[metric.spec.name]
    if str(getattr(operand, "function", "")) == "novelty" or name in ("novelty", "profile"):
        yield JUDGED_ANYWAY
    if name in _OF_METRICS:
        yield _OF_METRICS[name]
    if metric.datacenter is not None or definition.signature.needs_datacenter:
        yield _DATACENTER.format(metric.datacenter or "another")
    if definition.kind in (Kind.DERIVED, Kind.LAYOUT) or any(each.at is not At.HERE for each in definition.inputs):
        yield _DERIVED.format(f"{name}()")
    if metric.dataset is not None and metric.ago is not None:
        yield _AGO_OF_OTHER.format(metric.dataset)
    if metric.dataset is not None and isinstance(operand, History):
        yield _PAST_OF_OTHER.format(metric.dataset)
    if metric.ago is not None and by:
        yield _AGO_IN_GROUPS
    if isinstance(operand, History) and (metric.ago is not None or templates(to_text(metric))):
        yield _MOVING_PAST


def for_window(assertion: str, window: Window | None, partitioning: Partitioning | None) -> str:
    """The assertion as it reads for one window: its templates filled in, and ``ago=`` as a history of one value.

    Raises UnableToRender for a template that cannot be read.
    """
    for metric in reversed([node for node in postorder(parse(assertion)) if isinstance(node, Metric)]):
        if metric.ago is not None:
            earlier = History(function=HistoryFunction.LAG, metric=replace(metric, ago=None), last=1, every=metric.ago)
            assertion = assertion[: metric.place.start] + earlier.call + assertion[metric.place.end :]
    return render(assertion, window, partitioning) if window and partitioning else assertion


def beside(assertion: str) -> Beside:
    """What it reads of others."""
    metrics = [each.metric if isinstance(each, History) else each for each in operands(parse(assertion))]
    whole = {
        str(argument)
        for metric in metrics
        for argument, kind in zip(metric.spec.arguments, SIGNATURES[metric.spec.name].arguments, strict=False)
        if kind is ArgumentType.DATASET
    }
    windows = {metric.dataset for metric in metrics if metric.dataset is not None}
    return Beside(windows=frozenset(windows), whole=frozenset(whole))


def has_past(assertion: str) -> bool:
    """Whether it compares with windows before; so does what ``for_window`` makes of ``ago=``."""
    return any(isinstance(node, History) for node in postorder(parse(assertion)))


K = TypeVar("K", bound=Hashable)

ROWS = "whole rows"  # in place of a column, where rows were added or left out


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One spoilt copy of a window, and who says of it, and not of the sound copy, that something is wrong.

    ``novel`` is None where too few windows came before.
    """

    window: str
    kind: ErrorKind
    share: float
    columns: tuple[str, ...]
    rows: int
    tests: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    novel: bool | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that were spoilt; that of whole rows where there is none."""
        return self.columns or (ROWS,)


@dataclass(frozen=True, kw_only=True)
class Caught:
    """Of so many copies, those that tests catch, those that tests or suggestions do, and those that anything does."""

    copies: int
    tests: int
    with_suggestions: int
    with_novelty: int


@dataclass(frozen=True, kw_only=True)
class Missed:
    """What no live test caught in one column, by kind: how many copies, and in how many nothing else did either."""

    column: str
    caught: Caught
    by_tests: Mapping[ErrorKind, int] = field(default_factory=dict)
    by_all: Mapping[ErrorKind, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Gain:
    """A suggestion: the copies that it catches and tests miss, and those that no suggestion above it catches either."""

    assertion: str
    catches: int
    adds: int


def caught(trials: Iterable[Trial]) -> Caught:
    """How many of them, and by whom."""
    some = list(trials)
    return Caught(
        copies=len(some),
        tests=sum(bool(each.tests) for each in some),
        with_suggestions=sum(bool(each.tests or each.suggestions) for each in some),
        with_novelty=sum(bool(each.tests or each.suggestions or each.novel) for each in some),
    )


def by_cell(trials: Sequence[Trial]) -> dict[tuple[ErrorKind, float], Caught]:
    """By kind and share of rows, in the order of the kinds."""
    found = _grouped(trials, lambda trial: [(trial.kind, trial.share)])
    kinds = list(ErrorKind)
    return {cell: caught(found[cell]) for cell in sorted(found, key=lambda cell: (kinds.index(cell[0]), cell[1]))}


def by_kind(trials: Sequence[Trial]) -> dict[ErrorKind, Caught]:
    """By kind, over all shares."""
    found = _grouped(trials, lambda trial: [trial.kind])
    return {kind: caught(found[kind]) for kind in ErrorKind if kind in found}


def by_column(trials: Sequence[Trial]) -> list[Missed]:
    """What is missed in each column that was spoilt, the column of which tests miss most first."""
    found = _grouped(trials, lambda trial: trial.places)
    missed = [_missed(column, some) for column, some in found.items()]
    return sorted(missed, key=lambda one: (-sum(one.by_tests.values()), one.column))


def gains(trials: Sequence[Trial]) -> list[Gain]:
    """The suggestions that catch what tests miss: each time the one that adds most; those that add nothing last."""
    catching: dict[str, set[int]] = {}
    for at, trial in enumerate(trials):
        for assertion in () if trial.tests else trial.suggestions:
            catching.setdefault(assertion, set()).add(at)
    found: list[Gain] = []
    known: set[int] = set()
    while catching:
        best = max(catching, key=lambda assertion: (len(catching[assertion] - known), len(catching[assertion])))
        own = catching.pop(best)
        found.append(Gain(assertion=best, catches=len(own), adds=len(own - known)))
        known |= own
    return found


def _missed(column: str, trials: Collection[Trial]) -> Missed:
    by_tests: dict[ErrorKind, int] = {}
    by_all: dict[ErrorKind, int] = {}
    for trial in trials:
        if not trial.tests:
            by_tests[trial.kind] = by_tests.get(trial.kind, 0) + 1
        if not (trial.tests or trial.suggestions or trial.novel):
            by_all[trial.kind] = by_all.get(trial.kind, 0) + 1
    return Missed(column=column, caught=caught(trials), by_tests=by_tests, by_all=by_all)


def _grouped(trials: Iterable[Trial], keys: Callable[[Trial], Iterable[K]]) -> dict[K, list[Trial]]:
    found: dict[K, list[Trial]] = {}
    for trial in trials:
        for key in keys(trial):
            found.setdefault(key, []).append(trial)
    return found
