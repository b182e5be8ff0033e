"""Which tests can be judged on a copy of one window, as what assertion, and why others cannot (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.time.windows import Partitioning, Window
from execution_engine.language.operands import operands
from execution_engine.language.parsing.parse import parse
from execution_engine.language.templates import render, templates
from execution_engine.language.to_text import to_text
from execution_engine.language.tree import By, History, HistoryFunction, Metric, Operand
from execution_engine.language.walk import postorder
from execution_engine.metrics.definition import At, Kind
from execution_engine.metrics.registry import METRICS, SIGNATURES
from execution_engine.metrics.signature import ArgumentType

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
