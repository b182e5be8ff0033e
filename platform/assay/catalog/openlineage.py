"""OpenLineage run events: which data flows where, what it looks like, who owns it, and which windows are complete."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from assay.edge.control_characters import name_fault
from assay.time.durations import UnableToTakeInstant, taken
from assay.time.windows import UnableToReadWindow, Window

from .column_types import is_column_type
from .profile import Column, LineageProfile

V = TypeVar("V")
REPLACING = frozenset({"CREATE", "OVERWRITE", "TRUNCATE"})  # lifecycle states after which nothing older is there
MOST_ROWS = 2**63 - 1

MOST_DATASETS = 1000  # of one event
MOST_EDGES = 10_000


class UnableToReadEvent(ValueError):
    """An event that is no OpenLineage run event, and what of it is wrong."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A job says that it has written a dataset; without a nominal time it does not say which window.

    ``rows`` is what the output's statistics say that this run wrote; whether it overwrote, only some runs say.
    """

    dataset: str
    window: Window | None
    rows: int | None = None
    overwrites: bool = False


@dataclass(frozen=True, kw_only=True)
class LineageEvent:
    """What one event tells of the catalog; datasets by full name."""

    job: str
    at: datetime
    run: str = ""
    lineage: tuple[LineageProfile, ...] = ()
    columns: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    completed: tuple[Completion, ...] = ()


def read_event(event: object) -> LineageEvent:
    """What an OpenLineage RunEvent says, as its clients post it; raises UnableToReadEvent.

    Edges come without ``one_to_one`` and ``sampled``, which the standard does not know, and with the columns that are
    only renamed; ``apply_event`` keeps what is known of an edge. A failed or aborted run wrote nothing that one can
    rely on, so its event names no edges.
    """
    body = _mapping(event, "the event")
    kind = str(body.get("eventType")).upper()
    job, run = _mapping(body.get("job"), "job"), _mapping(body.get("run"), "run")
    inputs, outputs = _datasets(body, "inputs"), _datasets(body, "outputs")
    _demand_few(len(inputs), len(outputs))
    dropped = tuple(name for name, facets in outputs.items() if _lifecycle(facets) == "DROP")
    window, counts = _nominal_window(run), _row_counts(body)
    return LineageEvent(
        job=_full_name(job, "job"),
        at=_instant(body.get("eventTime"), "eventTime"),
        run=_name(str(run.get("runId") or ""), "run.runId"),
        lineage=() if kind in ("FAIL", "ABORT") else _edges(inputs, _without(outputs, dropped)),
        columns=_known({name: _columns(facets) for name, facets in {**inputs, **outputs}.items()}),
        owners=_known({name: _owner(facets) for name, facets in {**inputs, **outputs}.items()}),
        dropped=dropped if kind == "COMPLETE" else (),
        completed=tuple(
            Completion(dataset=name, window=window, rows=counts.get(name), overwrites=_lifecycle(facets) in REPLACING)
            for name, facets in outputs.items()
            if kind == "COMPLETE" and name not in dropped
        ),
    )


def _demand_few(inputs: int, outputs: int) -> None:
    if inputs + outputs > MOST_DATASETS or inputs * outputs > MOST_EDGES:
        raise UnableToReadEvent(
            f"The event names {inputs} inputs and {outputs} outputs: at most {MOST_DATASETS} datasets and {MOST_EDGES} "
            f"pairs of an input and an output may be in one. Send an event for each part of the job."
        )


def _without(outputs: Mapping[str, Any], dropped: tuple[str, ...]) -> dict[str, Any]:
    return {name: facets for name, facets in outputs.items() if name not in dropped}


def _edges(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> tuple[LineageProfile, ...]:
    renamed = {name: _renamed(facets) for name, facets in outputs.items()}
    return tuple(
        LineageProfile(upstream=upstream, downstream=downstream, keys=renamed[downstream].get(upstream, {}))
        for downstream in outputs
        for upstream in inputs
        if upstream != downstream
    )


def _renamed(facets: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Columns that are just one column of an input under another name, by input (the facet ``columnLineage``)."""
    fields = _facet(facets, "columnLineage").get("fields")
    found: dict[str, dict[str, str]] = {}
    for own, field_ in fields.items() if isinstance(fields, dict) else ():
        sources = field_.get("inputFields") if isinstance(field_, dict) else None
        if isinstance(sources, list) and len(sources) == 1 and isinstance(sources[0], dict):
            source = sources[0]
            name = source.get("field")
            if isinstance(name, str) and name != own and _is_copied(source):
                found.setdefault(f"{source.get('namespace')}.{source.get('name')}", {})[own] = name
    return found


def _is_copied(source: Mapping[str, Any]) -> bool:
    """Whether an input field's values come through as they are, as far as its transformations say."""
    steps = source.get("transformations") or []
    return all(isinstance(step, dict) and step.get("subtype") in (None, "IDENTITY") for step in steps)


def _datasets(body: Mapping[str, Any], side: str) -> dict[str, Mapping[str, Any]]:
    """Each dataset of one side with its facets, by full name."""
    items = body.get(side) or []
    if not isinstance(items, list):
        raise UnableToReadEvent(f"{side} must be a list of datasets.")
    read = [_mapping(item, f"{side}[{index}]") for index, item in enumerate(items)]
    return {_full_name(item, f"{side}[{index}]"): _facets(item) for index, item in enumerate(read)}


def _columns(facets: Mapping[str, Any]) -> tuple[Column, ...]:
    fields = _facet(facets, "schema").get("fields") or []
    named = [each for each in fields if isinstance(each, dict) and isinstance(each.get("name"), str)]
    return tuple(Column(name=_name(each["name"], "a field"), type=_type(each.get("type"))) for each in named)


def _type(told: object) -> str:
    """The type of a field; none where it is no type, as some clients send what they do not know."""
    return told if isinstance(told, str) and is_column_type(told) else ""


def _owner(facets: Mapping[str, Any]) -> str:
    """The first owner, and of several the one of type OWNER."""
    owners = [each for each in _facet(facets, "ownership").get("owners") or [] if isinstance(each, dict)]
    owners.sort(key=lambda each: str(each.get("type")).upper() != "OWNER")
    return _name(str(owners[0].get("name") or ""), "an owner") if owners else ""


def _lifecycle(facets: Mapping[str, Any]) -> object:
    return _facet(facets, "lifecycleStateChange").get("lifecycleStateChange")


def _row_counts(body: Mapping[str, Any]) -> dict[str, int]:
    """How many rows the run says that it wrote to each output."""
    found = {}
    for index, item in enumerate(body.get("outputs") or []):
        count = _facet(_facets(item, "outputFacets"), "outputStatistics").get("rowCount")
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_ROWS:
            found[_full_name(item, f"outputs[{index}]")] = count
    return found


def _nominal_window(run: Mapping[str, Any]) -> Window | None:
    nominal = _facet(_facets(run), "nominalTime")
    start, end = nominal.get("nominalStartTime"), nominal.get("nominalEndTime")
    if start is None or end is None:
        return None
    try:
        return Window(start=_instant(start, "nominalStartTime"), end=_instant(end, "nominalEndTime"))
    except UnableToReadWindow:
        return None  # some schedulers give the same instant twice: a nominal time, but no window


def _facets(item: Mapping[str, Any], key: str = "facets") -> Mapping[str, Any]:
    facets = item.get(key)
    return facets if isinstance(facets, dict) else {}


def _facet(facets: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    facet = facets.get(name)
    return facet if isinstance(facet, dict) else {}


def _known(values: Mapping[str, V]) -> dict[str, V]:
    return {name: value for name, value in values.items() if value}


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UnableToReadEvent(f"{place} must be an object: post an OpenLineage RunEvent.")
    return value


def _full_name(item: Mapping[str, Any], place: str) -> str:
    namespace, name = item.get("namespace"), item.get("name")
    if not (isinstance(namespace, str) and namespace and isinstance(name, str) and name):
        raise UnableToReadEvent(f"{place} needs a namespace and a name, both of them text.")
    return _name(f"{namespace}.{name}", place)


def _name(text: str, place: str) -> str:
    if fault := name_fault(text):
        raise UnableToReadEvent(f"{place}: {fault}.")
    return text


def _instant(value: object, place: str) -> datetime:
    try:
        instant = datetime.fromisoformat(str(value))
    except ValueError:
        raise UnableToReadEvent(f"{place} is {value!r}: write an ISO 8601 instant, 2013-02-01T05:00:00Z.") from None
    try:
        return taken(instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant).astimezone(UTC)
    except UnableToTakeInstant as error:
        raise UnableToReadEvent(f"{place}: {error}") from None
