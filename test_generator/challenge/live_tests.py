"""The live tests of a dataset as assertions on copies of one window, what they read of others, and why some cannot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq

from assay.catalog.selectors import by_name, home
from assay.command_line.command import UnableToRun
from assay.models import Category, Dataset, DataTest, Scope
from assay.time.windows import Partitioning, Window
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.protocol import Table
from execution_engine.file_windows import files_of, rows_of
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_text
from execution_engine.language.templates import UnableToRender, render, templates
from execution_engine.language.tree import By, History, HistoryFunction, Metric, metric_of, operands, postorder
from execution_engine.metrics.definition import ArgumentType, At, MetricKind
from execution_engine.metrics.registry import METRICS, SIGNATURES
from execution_engine.verification import Check, UnableToAssert

JUDGED_ANYWAY = "novelty is judged by itself, beside the windows before"
_OF_METRICS = {
    "freshness": "it asks when the data came, and a copy has no such time",
    "query": "its query names tables by itself, and a copy has no name",
    "schema_drift": "it compares names and types with the catalog, and no error here changes these",
    "unpartitioned_rows": "it looks at the keys of all partitions, and a copy is of one",
}


@dataclass(frozen=True, kw_only=True)
class ForeignInputs:
    """The other datasets that an assertion reads: those in the same window, and those as a whole."""

    windows: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()


ALONE = ForeignInputs()


def why_not(assertion: str) -> str | None:
    """Why the assertion cannot be judged on a copy of a window; None where it can."""
    tree = parse(assertion)
    for operand in operands(tree):
        metric = metric_of(operand)
        name, definition = metric.spec.name, METRICS[metric.spec.name]
        is_of_past, inputs = isinstance(operand, History), [part.at for part in definition.inputs]
        if str(getattr(operand, "function", "")) == "novelty" or name in ("novelty", "profile"):
            return JUDGED_ANYWAY
        if name in _OF_METRICS:
            return _OF_METRICS[name]
        if metric.datacenter is not None or definition.signature.needs_datacenter:
            return f"it compares with datacenter {metric.datacenter or 'another'}, and nothing is read there"
        if definition.kind in (MetricKind.DERIVED, MetricKind.LAYOUT) or any(at is not At.HERE for at in inputs):
            return f"{name}() is measured by the service alone"
        if metric.dataset is not None and metric.ago is not None:
            return f"it compares with an earlier window of {metric.dataset}, and only the same window is read there"
        if metric.dataset is not None and is_of_past:
            return f"it compares with the past of {metric.dataset}, and only the same window is read there"
        if metric.ago is not None and isinstance(tree, By):
            return "it compares groups with those of an earlier window, whose groups nobody keeps"
        if is_of_past and (metric.ago is not None or templates(to_text(metric))):
            return "its SQL names the window, so each window of the past would have another"
    return None


def for_window(assertion: str, window: Window | None, partitioning: Partitioning | None) -> str:
    """The assertion as it reads for one window: its templates filled in, and ``ago=`` as a history of one value.

    Raises UnableToRender for a template that cannot be read.
    """
    for metric in reversed([node for node in postorder(parse(assertion)) if isinstance(node, Metric)]):
        if metric.ago is not None:
            earlier = History(function=HistoryFunction.LAG, metric=replace(metric, ago=None), last=1, every=metric.ago)
            assertion = assertion[: metric.place.start] + earlier.call + assertion[metric.place.end :]
    return render(assertion, window, partitioning) if window and partitioning else assertion


def foreign_inputs(assertion: str) -> ForeignInputs:
    """What it reads of others."""
    metrics = [metric_of(operand) for operand in operands(parse(assertion))]
    whole = {
        str(argument)
        for metric in metrics
        for argument, kind in zip(metric.spec.arguments, SIGNATURES[metric.spec.name].arguments, strict=False)
        if kind is ArgumentType.DATASET
    }
    windows = {metric.dataset for metric in metrics if metric.dataset is not None}
    return ForeignInputs(windows=frozenset(windows), whole=frozenset(whole))


def has_past(assertion: str) -> bool:
    """Whether it compares with windows before; so does what ``for_window`` makes of ``ago=``."""
    return any(isinstance(node, History) for node in postorder(parse(assertion)))


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One window: its key, and the time that histories are in the order of: that of its start, by the local clock."""

    key: str
    at: datetime


def moment_of(window: Window, partitioning: Partitioning) -> Moment:
    """The moment of a partition, by the dataset's own clock, so that steps of days find their days."""
    local = window.start.astimezone(partitioning.zone)
    return Moment(key=partitioning.key(window), at=local.replace(tzinfo=UTC))


@dataclass(frozen=True, kw_only=True)
class CopyTest:
    """Something that is asserted of copies of windows; ``check`` writes it down for one window."""

    name: str
    check: Callable[[Moment], Check]
    has_past: bool = False
    inputs: ForeignInputs = ALONE
    is_suggested: bool = False


def live_tests(dataset: Dataset) -> tuple[list[CopyTest], dict[str, str]]:
    """Every test that is not retired and can be judged on copies, and by name why the others cannot."""
    rows = DataTest.objects.filter(dataset=dataset, retired_at__isnull=True, revision__isnull=False)
    partitioning, judged, unjudged = dataset.partitioning, [], {}
    assert partitioning is not None
    for row in rows.select_related("dataset", "revision").order_by("name"):
        assert row.revision is not None
        assertion = row.revision.assertion
        if (why := _why_not_judged(row, assertion, partitioning)) is not None:
            unjudged[row.name] = why
            continue

        def check(moment: Moment, assertion: str = assertion, partitioning: Partitioning = partitioning) -> Check:
            return Check().holds(for_window(assertion, partitioning.window(moment.key), partitioning))

        past = has_past(for_window(assertion, None, None))
        judged.append(CopyTest(name=row.name, check=check, has_past=past, inputs=foreign_inputs(assertion)))
    return judged, unjudged


def _why_not_judged(test: DataTest, assertion: str, partitioning: Partitioning) -> str | None:
    here = home(test.dataset).datacenter
    if test.category == Category.NOVELTY:
        return JUDGED_ANYWAY
    if test.scope == Scope.TABLE:
        return "it judges the whole table, and a copy is of one window"
    if test.datacenter != here:
        return f"it runs in {test.datacenter}, and the copies are of {here}"
    if (why := why_not(assertion)) is not None:
        return why
    others = foreign_inputs(assertion)
    try:
        Check().holds(for_window(assertion, partitioning.at(test.created_at), partitioning))
        for name in sorted(others.windows | others.whole):
            _files_named(name)
    except (UnableToAssert, UnableToRender, UnableToRun) as error:
        return str(error)
    return None


def _files_named(name: str) -> tuple[Dataset, Table]:
    dataset = by_name(name)
    if dataset is None:
        raise UnableToRun(f"there is no dataset {name}")
    return dataset, files_of(dataset)


@dataclass(kw_only=True)
class Upstreams:
    """Sound windows of other datasets, each written once into the folder of the copies."""

    folder: Path
    partitioning: Partitioning
    _written: dict[tuple[str, str], Path | None] = field(default_factory=dict)

    def __call__(self, others: ForeignInputs, moment: Moment) -> Mapping[str, Table | Path]:
        """What an assertion reads beside the copy of a window; a dataset that has no rows there is left out."""
        tables: dict[str, Table | Path] = {name: _files_named(name)[1] for name in others.whole}
        for name in others.windows:
            key = name, moment.key
            if key not in self._written:
                dataset, table = _files_named(name)
                try:
                    rows = rows_of(dataset, table, self.partitioning.window(moment.key))
                except UnableToListFiles as error:
                    raise UnableToRun(str(error.failure.detail)) from None
                path = self.folder / f"beside-{len(self._written)}.parquet"
                if rows is not None:
                    pq.write_table(rows, path)
                self._written[key] = None if rows is None else path
            if (copy := self._written[key]) is not None:
                tables[name] = copy
        return tables
