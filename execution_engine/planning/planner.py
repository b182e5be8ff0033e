"""Which measurements an assertion needs, each with the inputs it builds on (pure)."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import blake2s
from zoneinfo import ZoneInfo

from assay.catalog.declared import ALL, Declared, in_force
from assay.time.partition_keys import zone
from assay.time.windows import Granularity, Partitioning, Step, UnableToAlign, UnableToStep, Window, shift
from execution_engine.language.templates import UnableToRender, render
from execution_engine.language.tree import History, Metric, Operand
from execution_engine.metrics.columns import written
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.definitions import schema_drift
from execution_engine.metrics.registry import METRICS, SIGNATURES
from execution_engine.metrics.signature import ArgumentType
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Failure, Reason

from .past_windows import UnableToLookBack, partition_before, past_windows

ROW_COUNT = MetricSpec(name="row_count")
SHARE_OPTION = "complete"


class UnableToPlan(Exception):
    """The run cannot be planned; ``failure`` says why, and is the run's outcome."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.failure = Failure(reason=reason, detail=detail)


@dataclass(frozen=True, kw_only=True)
class PlannedSource:
    """What planning needs to know of a dataset."""

    name: str
    datacenters: tuple[str, ...]  # home first
    partitioning: Partitioning | None = None
    time_zone: str = "UTC"
    primary_key: tuple[str, ...] = ()
    share: float = 0.999  # of its upstream's rows that makes it complete, where nobody asks for another
    upstreams: tuple[str, ...] = ()  # one-to-one
    kept_from: datetime | None = None  # partitions that start earlier are deleted
    declared: tuple[Declared, ...] = ()  # its columns

    @property
    def zone(self) -> ZoneInfo:
        """The zone of its local calendar."""
        return self.partitioning.zone if self.partitioning else zone(self.time_zone)


SourceOf = Callable[[str], PlannedSource | None]


@dataclass(frozen=True, kw_only=True)
class PlannedPlace:
    """One window of one dataset in one datacenter."""

    source: PlannedSource
    datacenter: str
    window: Window
    whole_table: bool = False  # with the rows that lie in no partition


@dataclass(frozen=True, kw_only=True)
class Want:
    """One measurement that is needed."""

    dataset: str
    datacenter: str
    window: Window
    spec: MetricSpec
    inputs: tuple["Want", ...] = ()
    accept_from: datetime | None = None  # older ones do not count; None: any, while the data is the same
    keep_first: bool = False  # once taken, always the same one
    whole_table: bool = False  # of the partitions of the window, and of the rows that lie in no partition

    @cached_property
    def spec_hash(self) -> str:
        """What is measured and what it builds on, in 32 characters."""
        return hash_of(self.spec, self.inputs, whole_table=self.whole_table)

    @cached_property
    def key(self) -> tuple[str, str, str, str]:
        """Its identity: place and hash."""
        return self.dataset, self.datacenter, self.window.text, self.spec_hash


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Plans the operands of one run: a test of ``home`` in ``datacenter`` over ``window``."""

    home: PlannedSource
    datacenter: str
    window: Window
    accept_from: datetime | None
    source_of: SourceOf
    whole_table: bool = False  # the test is of the whole table, and so of the rows that lie in no partition
    # By place, so that lineages that fork and join again stay linear. Where they form a circle, the walk ends at
    # the first dataset it meets again.
    _known: dict[object, Want] = field(default_factory=dict, compare=False, repr=False)

    def want(self, operand: Operand) -> Want:
        """The measurement that gives an operand its value; of a history today's, so that there will be one.

        Raises UnableToPlan where it cannot be taken, be it only because its window is no more kept.
        """
        want = self._want(operand.metric if isinstance(operand, History) else operand)
        for needed in (want, *(() if want.spec.name == "freshness" else want.inputs)):
            self._check_kept(needed)
        return want

    def _want(self, operand: Metric) -> Want:
        if SIGNATURES[operand.spec.name].needs_datacenter:
            return self._want_across(operand)
        return self._want_at(operand.spec, self._place(operand), self.accept_from if operand.ago is None else None)

    def past(self, history: History) -> tuple[Want, ...]:
        """The measurements that a history is made of, the oldest first; none of a window that never was."""
        return tuple(
            replace(self, window=window, accept_from=None)._want(history.metric) for window in self._previous(history)
        )

    def _want_at(self, spec: MetricSpec, place: PlannedPlace, accept_from: datetime | None) -> Want:
        if spec.name == "freshness":
            return self._freshness(place, spec, accept_from, frozenset())
        inputs = tuple(self._sample(str(spec.arguments[0]), place) for name in METRICS[spec.name].inputs)
        return wanted_at(place, held_to(rendered(spec, place), place), inputs=inputs, accept_from=accept_from)

    def _want_across(self, operand: Metric) -> Want:
        """Measured where the test runs: a filter of the other side's keys, wanted where the digests of both differ."""
        here = self._place(replace(operand, datacenter=None))
        there = self._place(operand)
        accept_from = self.accept_from if operand.ago is None else None
        spec = rendered(operand.spec, here)
        digest = replace(spec, name="key_digest", options=())
        sides = dict.fromkeys((here, there))
        digests = tuple(wanted_at(side, digest, accept_from=accept_from) for side in sides)
        filter_ = replace(spec, name="bloom_filter")
        shipped = wanted_at(there, filter_, inputs=digests, accept_from=accept_from)
        return wanted_at(here, spec, inputs=(*digests, shipped), accept_from=accept_from)

    def _sample(self, upstream: str, place: PlannedPlace) -> Want:
        """The sample of an upstream; checks probe the one that the first run took."""
        source = self._source(upstream)
        columns = tuple(map(written, self.home.primary_key or source.primary_key))
        if not columns:
            raise UnableToPlan(
                Reason.INVALID, f"{self.home.name} has no primary key to sample {upstream} by: add one to its metadata."
            )
        there = _place(source, source.datacenters[0], place.window)
        return replace(wanted_at(there, MetricSpec(name="sample", columns=columns)), keep_first=True)

    def _freshness(
        self, place: PlannedPlace, spec: MetricSpec, accept_from: datetime | None, path: frozenset[str]
    ) -> Want:
        """Derived from the window's rows, and from the rows and the freshness of all it is measured against."""
        known = (place.source.name, place.datacenter, place.window, spec, accept_from)
        if known in self._known:
            return self._known[known]
        inputs = [wanted_at(place, ROW_COUNT, accept_from=accept_from)]
        path |= {place.source.name}
        for supply in self._supplies(place, path):
            # An unchanged supply is what it was: its fingerprint is compared, its data not read again.
            inputs += [wanted_at(supply, ROW_COUNT), self._freshness(supply, _freshness_of(supply.source), None, path)]
        self._known[known] = wanted_at(place, spec, inputs=tuple(inputs), accept_from=accept_from)
        return self._known[known]

    def _check_kept(self, want: Want) -> None:
        source = self.home if want.dataset == self.home.name else self._source(want.dataset)
        if source.kept_from is not None and source.partitioning and want.window.start < source.kept_from:
            raise UnableToPlan(
                Reason.NO_DATA, f"{source.name} keeps partitions from {source.kept_from:%Y-%m-%d %H:%M} on only."
            )

    def _supplies(self, place: PlannedPlace, path: frozenset[str]) -> list[PlannedPlace]:
        """The window at home for a replica; else that of each one-to-one upstream whose partitions align."""
        home = place.source.datacenters[0]
        if place.datacenter != home:
            return [replace(place, datacenter=home)]
        sources = [self.source_of(name) for name in place.source.upstreams if name not in path]
        usable = [source for source in sources if source is not None and _compares(source, place)]
        return [replace(place, source=source, datacenter=_nearest(source, place.datacenter)) for source in usable]

    def _place(self, operand: Metric) -> PlannedPlace:
        source = self.home if operand.dataset is None else self._source(operand.dataset)
        nearest = self.datacenter if operand.dataset is None else _nearest(source, self.datacenter)
        window = self.window if operand.ago is None else stepped_back(self.window, self.home, operand.ago)
        place = _place(source, operand.datacenter or nearest, window)
        is_whole = self.whole_table or METRICS[operand.spec.name].kind is Kind.LAYOUT
        return replace(place, whole_table=is_whole and source.partitioning is not None)

    def _source(self, name: str) -> PlannedSource:
        source = self.source_of(name)
        if source is None or not source.datacenters:
            raise UnableToPlan(Reason.INVALID, f"There is no dataset {name!r} with a replica: add it to the catalog.")
        return source

    def _previous(self, history: History) -> tuple[Window, ...]:
        if self.home.partitioning is None or self.home.partitioning.tile(self.window) != (self.window,):
            raise UnableToPlan(
                Reason.INVALID, f"{history.text} needs single partitions, which {self.window.text} is not one of."
            )
        try:
            return past_windows(self.window, self.home.partitioning, history)
        except UnableToStep as error:
            raise UnableToPlan(Reason.MISALIGNED, f"{history.text}: {error}") from error


def hash_of(spec: MetricSpec, inputs: tuple[Want, ...] = (), *, whole_table: bool = False) -> str:
    """What is measured and what it builds on, in 32 characters."""
    places = [[want.dataset, want.datacenter, want.window.text, want.spec_hash] for want in inputs]
    told = [spec.text, places, *(["whole table"] if whole_table else [])]
    return blake2s(json.dumps(told).encode(), digest_size=16).hexdigest()


def wanted_at(
    place: PlannedPlace, spec: MetricSpec, *, inputs: tuple[Want, ...] = (), accept_from: datetime | None = None
) -> Want:
    """The want of one metric at one place."""
    return Want(
        dataset=place.source.name,
        datacenter=place.datacenter,
        window=place.window,
        spec=spec,
        inputs=inputs,
        accept_from=accept_from,
        whole_table=place.whole_table,
    )


def rendered(spec: MetricSpec, place: PlannedPlace) -> MetricSpec:
    """The metric with the templates of its SQL filled in for one window."""
    partitioning = place.source.partitioning or Partitioning(
        granularity=Granularity.DAY, time_zone=place.source.time_zone
    )

    def fill(text: str) -> str:
        return render(text, place.window, partitioning)

    def argument(value: Literal, kind: ArgumentType) -> Literal:
        return fill(value) if kind is ArgumentType.SQL and isinstance(value, str) else value

    try:
        return replace(
            spec,
            arguments=tuple(map(argument, spec.arguments, SIGNATURES[spec.name].arguments)),
            where=None if spec.where is None else fill(spec.where),
        )
    except UnableToRender as error:
        raise UnableToPlan(Reason.INVALID, str(error)) from error


def held_to(spec: MetricSpec, place: PlannedPlace) -> MetricSpec:
    """The drift of a schema with the columns that the place is held to; any other metric as it is."""
    if spec.name != schema_drift.SCHEMA_DRIFT.name or spec.option(schema_drift.DECLARED) is not None:
        return spec
    source, options = place.source, dict(spec.options)
    of = str(options.pop(schema_drift.OF, ALL))
    begins = place.window.start if source.partitioning else None
    columns = in_force(source.declared, of, begins=begins)
    if not columns:
        if begins is not None and in_force(source.declared, of):
            detail = f"{place.window.text} began before the columns of {source.name} were declared as they are"
            raise UnableToPlan(Reason.NOT_DUE, detail)
        which = "" if of == ALL else f" of its {of}"
        raise UnableToPlan(Reason.INVALID, f"{source.name} declares no columns{which}: add them to its metadata.")
    options[schema_drift.DECLARED] = schema_drift.declared_text((column.name, column.type) for column in columns)
    return replace(spec, options=tuple(sorted(options.items())))


def stepped_back(window: Window, source: PlannedSource, ago: str) -> Window:
    """The window that lies ``ago`` before: a partition steps to a partition, a longer window moves as a whole."""
    partitioning = source.partitioning
    try:
        step = -Step.parse(ago)
        if partitioning and partitioning.tile(window) == (window,):
            return partition_before(window, partitioning, step)
        return Window(start=shift(window.start, step, source.zone), end=shift(window.end, step, source.zone))
    except UnableToLookBack as error:
        raise UnableToPlan(Reason.WARMING_UP, str(error)) from error
    except (UnableToStep, UnableToAlign) as error:
        raise UnableToPlan(Reason.MISALIGNED, str(error)) from error


def aligns(partitioning: Partitioning | None, window: Window) -> bool:
    """Whether whole partitions cover the window exactly; a table without partitions has every window."""
    if partitioning is None:
        return True
    return all(partitioning.at(instant).start == instant for instant in (window.start, window.end))


def _place(source: PlannedSource, datacenter: str, window: Window) -> PlannedPlace:
    if datacenter not in source.datacenters:
        known = ", ".join(source.datacenters) or "none"
        raise UnableToPlan(
            Reason.INVALID, f"{source.name} has no replica in {datacenter!r}: write one of {known}, or add the replica."
        )
    if not aligns(source.partitioning, window):
        raise UnableToPlan(
            Reason.MISALIGNED, f"No whole number of partitions of {source.name} covers {window.text} exactly."
        )
    return PlannedPlace(source=source, datacenter=datacenter, window=window)


def _nearest(source: PlannedSource, datacenter: str) -> str:
    return datacenter if datacenter in source.datacenters else source.datacenters[0]


def _compares(source: PlannedSource, place: PlannedPlace) -> bool:
    """Whether the rows of an upstream in this window say anything about the rows of the place."""
    same_kind = (source.partitioning is None) == (place.source.partitioning is None)
    kept = source.kept_from is None or place.window.start >= source.kept_from
    return bool(source.datacenters) and same_kind and kept and aligns(source.partitioning, place.window)


def _freshness_of(source: PlannedSource) -> MetricSpec:
    return MetricSpec(name="freshness", options=((SHARE_OPTION, source.share),))
