"""Which measurements an assertion needs, each with the inputs it builds on (pure)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import blake2s
from itertools import groupby
from zoneinfo import ZoneInfo

from assay.catalog.column_types import Declared
from assay.time.durations import Step, UnableToStep, shift
from assay.time.windows import Granularity, Partitioning, UnableToAlign, Window, zone
from execution_engine.language.business_metric import expression_of, metrics_of
from execution_engine.language.templates import UnableToRender, render
from execution_engine.language.tree import History, Metric, Operand, metric_of
from execution_engine.metrics.definition import TEMPLATED, ArgumentType, At, Input, MetricKind
from execution_engine.metrics.registry import METRICS, SIGNATURES
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Failure, Reason

from .schedules import UnableToLookBack, partition_before, past_windows


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
    sampled: tuple[str, ...] = ()  # upstreams of which keys may be drawn and looked up here
    keys: tuple[tuple[str, str, str], ...] = ()  # upstream, column of the primary key here, its name there
    retention_start: datetime | None = None  # partitions that start earlier are deleted
    declared: tuple[Declared, ...] = ()  # its columns
    unprofiled: tuple[str, ...] = ()  # columns whose values are sensitive, or the same in each partition
    expression: str = ""  # of a business metric, a dataset in each operand
    sources: tuple[str, ...] = ()  # of a business metric

    def key_upstream(self, upstream: str) -> tuple[str, ...]:
        """The names that the columns of its primary key have in an upstream."""
        names = {own: there for name, own, there in self.keys if name.casefold() == upstream.casefold()}
        return tuple(names.get(column, column) for column in self.primary_key)

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
    stays_while_missed: bool = False  # the newest one taken, while some of it is not found yet
    whole_table: bool = False  # of the partitions of the window, and of the rows that lie in no partition
    as_of: str = ""  # the snapshot or the instant of the table that is read; empty: as it is now

    @cached_property
    def spec_hash(self) -> str:
        """What is measured and what it builds on, in 32 characters."""
        return hash_of(self.spec, self.inputs, whole_table=self.whole_table, as_of=self.as_of)

    @cached_property
    def key(self) -> tuple[str, str, str, str]:
        """Its identity: place and hash."""
        return self.dataset, self.datacenter, self.window.text, self.spec_hash

    def __hash__(self) -> int:
        # Each remembers its key: by all fields, what two share would be walked once for each, twice as often by layer.
        return hash(self.key)


@dataclass(frozen=True)
class PlannedCall:
    """One metric that is planned: where it is taken, and where the other side of a comparison is.

    ``path`` names the datasets that led here by what supplies them.
    """

    here: PlannedPlace
    there: PlannedPlace
    accept_from: datetime | None
    path: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Plans the operands of one run: a test of ``home`` in ``datacenter`` over ``window``."""

    home: PlannedSource
    datacenter: str
    window: Window
    accept_from: datetime | None
    source_of: SourceOf
    whole_table: bool = False  # the test is of the whole table, and so of the rows that lie in no partition
    as_of: Mapping[str, str] = field(default_factory=dict)  # as that of a Run
    # By place, so that lineages that fork and join again stay linear. Where they form a circle, the walk ends at
    # the first dataset it meets again.
    _wants_by_place: dict[object, Want] = field(default_factory=dict, compare=False, repr=False)

    def want(self, operand: Operand) -> Want:
        """The measurement that gives an operand its value; of a history today's, so that there will be one.

        Raises UnableToPlan if the measurement cannot be taken, also if only its window is not kept any longer.
        """
        want = self._want(metric_of(operand))
        is_supplied = any(part.at is At.SUPPLIES for part in METRICS[want.spec.name].inputs)
        for needed in (want, *(() if is_supplied else want.inputs)):
            source = self.home if needed.dataset == self.home.name else self._source(needed.dataset)
            if (
                source.retention_start is not None
                and source.partitioning
                and needed.window.start < source.retention_start
            ):
                raise UnableToPlan(
                    Reason.NO_DATA,
                    f"{source.name} keeps partitions from {source.retention_start:%Y-%m-%d %H:%M} on only.",
                )
        return want

    def _want(self, operand: Metric) -> Want:
        """Measured where the call says; a comparison of two datacenters where the test runs."""
        across = SIGNATURES[operand.spec.name].needs_datacenter
        here = self._place(replace(operand, datacenter=None) if across else operand)
        there = self._place(operand) if across else here
        accept_from = self.accept_from if operand.ago is None else None
        spec = held_to(rendered(operand.spec, here), here)
        call = PlannedCall(here, there, accept_from)
        return self._built(spec, call, self._inputs(spec, METRICS[spec.name].inputs, call))

    def past(self, history: History) -> tuple[Want, ...]:
        """The measurements that a history is made of, the oldest first; none of a window that never was."""
        if self.home.partitioning is None or self.home.partitioning.tile(self.window) != (self.window,):
            raise UnableToPlan(
                Reason.INVALID, f"{history.text} needs single partitions, which {self.window.text} is not one of."
            )
        try:
            windows = past_windows(self.window, self.home.partitioning, history)
        except UnableToStep as error:
            raise UnableToPlan(Reason.MISALIGNED, f"{history.text}: {error}") from error
        return tuple(replace(self, window=window, accept_from=None)._want(history.metric) for window in windows)

    def _built(self, spec: MetricSpec, call: PlannedCall, inputs: Iterator[Want]) -> Want:
        """The want with what it builds on, each once, worked out when it is first asked for."""
        here = call.here
        place = (here.source.name, here.datacenter, here.window, here.whole_table, call.there.datacenter)
        key = (spec, place, call.accept_from)
        if key not in self._wants_by_place:
            self._wants_by_place[key] = Want(
                dataset=here.source.name,
                datacenter=here.datacenter,
                window=here.window,
                spec=spec,
                inputs=tuple(dict.fromkeys(inputs)),
                accept_from=call.accept_from,
                whole_table=here.whole_table,
                as_of=self.as_of.get(f"{here.source.name}@{here.datacenter}") or self.as_of.get("*", ""),
            )
        return self._wants_by_place[key]

    def _inputs(self, spec: MetricSpec, inputs: Sequence[Input], call: PlannedCall) -> Iterator[Want]:
        """What is taken at one place stands together, in the order of the definition."""
        for at, group in groupby(inputs, key=lambda part: part.at):
            alike, here = list(group), call.here
            if at is At.OPERANDS:  # what the expression of a business metric is computed from
                of_metric = replace(
                    self,
                    home=here.source,
                    datacenter=here.datacenter,
                    window=here.window,
                    accept_from=call.accept_from,
                )
                yield from map(of_metric._want, metrics_of(expression_of(here.source.expression)))
                continue
            if at is At.SAMPLED:
                # what is known of their keys, at home, where no rows are counted to be set against
                is_home, path = here.datacenter == here.source.datacenters[0], call.path | {here.source.name}
                is_counted = not is_home or self._supplies(here, path)
                upstreams = [self.source_of(name) for name in here.source.sampled if not is_counted]
                for upstream in [source for source in upstreams if source is not None and _compares(source, here)]:
                    for part in alike:
                        needed = held_to(part.spec(spec, upstream), here)
                        yield self._built(needed, call, self._inputs(needed, METRICS[needed.name].inputs, call))
                continue
            for there in self._calls(at, spec, call):
                for part in alike:
                    needed = part.spec(spec, there.here.source)
                    own = METRICS[needed.name].inputs
                    below = self._inputs(needed, part.inputs, call) if part.inputs else self._inputs(needed, own, there)
                    want = self._built(needed, there, below)
                    is_kept = at is At.UPSTREAM and METRICS[needed.name].stays_while_missed
                    yield replace(want, stays_while_missed=True) if is_kept else want

    def _calls(self, at: At, spec: MetricSpec, call: PlannedCall) -> list[PlannedCall]:
        here, path = call.here, call.path | {call.here.source.name}
        match at:
            case At.HERE:
                return [call]
            case At.THERE:
                return [replace(call, here=call.there)]
            case At.UPSTREAM:
                # its home, whose rows are known by the primary key of the test's own dataset, or by theirs
                name = str(spec.arguments[0])
                source = self._source(name)
                keyed = replace(source, primary_key=here.source.key_upstream(name) or source.primary_key)
                if not keyed.primary_key:
                    detail = f"{here.source.name} has no primary key to sample {name} by: add one to its metadata."
                    raise UnableToPlan(Reason.INVALID, detail)
                there = _place(keyed, source.datacenters[0], here.window)
                return [PlannedCall(there, there, None)]
            case At.SOURCES:
                sources = [self._source(name) for name in here.source.sources]
                places = [_place(source, _nearest(source, here.datacenter), here.window) for source in sources]
            case _:  # an unchanged supply is what it was: its fingerprint is compared, its data not read again
                places = self._supplies(here, path)
        return [PlannedCall(place, place, None, path) for place in places]

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
        is_whole = self.whole_table or METRICS[operand.spec.name].kind is MetricKind.LAYOUT
        return replace(place, whole_table=is_whole and source.partitioning is not None)

    def _source(self, name: str) -> PlannedSource:
        source = self.source_of(name)
        if source is None or not source.datacenters:
            raise UnableToPlan(Reason.INVALID, f"There is no dataset {name!r} with a replica: add it to the catalog.")
        return source


def hash_of(spec: MetricSpec, inputs: tuple[Want, ...] = (), *, whole_table: bool = False, as_of: str = "") -> str:
    """What is measured and what it builds on, in 32 characters; as of another instant it is another measurement."""
    places = [[want.dataset, want.datacenter, want.window.text, want.spec_hash] for want in inputs]
    content = [spec.text, places, *(["whole table"] if whole_table else []), *([as_of] if as_of else [])]
    return blake2s(json.dumps(content).encode(), digest_size=16).hexdigest()


def rendered(spec: MetricSpec, place: PlannedPlace) -> MetricSpec:
    """The metric with the templates of its SQL filled in for one window."""
    partitioning = place.source.partitioning or Partitioning(
        granularity=Granularity.DAY, time_zone=place.source.time_zone
    )

    def fill(text: str) -> str:
        return render(text, place.window, partitioning)

    def argument(value: Literal, kind: ArgumentType) -> Literal:
        return fill(value) if kind in TEMPLATED and isinstance(value, str) else value

    try:
        return replace(
            spec,
            arguments=tuple(map(argument, spec.arguments, SIGNATURES[spec.name].arguments)),
            where=None if spec.where is None else fill(spec.where),
        )
    except UnableToRender as error:
        raise UnableToPlan(Reason.INVALID, str(error)) from error


def held_to(spec: MetricSpec, place: PlannedPlace) -> MetricSpec:
    """The metric as it is meant at a place; raises UnableToPlan where that gives it no meaning."""
    held = METRICS[spec.name].held_to
    if held is None:
        return spec
    meant = held(spec, place.source, place.window if place.source.partitioning else None)
    if isinstance(meant, Failure):
        raise UnableToPlan(meant.reason, meant.detail)
    return meant


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
        datacenters = ", ".join(source.datacenters) or "none"
        raise UnableToPlan(
            Reason.INVALID,
            f"{source.name} has no replica in {datacenter!r}: write one of {datacenters}, or add the replica.",
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
    is_stored = source.retention_start is None or place.window.start >= source.retention_start
    return bool(source.datacenters) and same_kind and is_stored and aligns(source.partitioning, place.window)
