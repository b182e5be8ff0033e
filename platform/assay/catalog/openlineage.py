"""OpenLineage run events: which data flows where, what it looks like, who owns it, and which windows are complete."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from assay.edge.control_characters import name_fault
from assay.time.durations import UnableToTakeInstant, taken
from assay.time.windows import UnableToReadWindow, Window

from .column_types import is_column_type
from .edges import ANY
from .profile import Column, LineageProfile
from .sql_columns import columns_of_job

REPLACING = frozenset({"CREATE", "OVERWRITE", "TRUNCATE"})  # lifecycle states after which nothing older is there
MOST_ROWS = 2**63 - 1

MOST_DATASETS = 1000  # of one event
MOST_EDGES = 10_000


class UnableToReadEvent(ValueError):
    """An event that is no OpenLineage run event, and what of it is wrong."""


@dataclass(frozen=True, kw_only=True)
class JobCompletion:
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
    completed: tuple[JobCompletion, ...] = ()
    sql: str = ""  # of the job
    dialect: str = ""  # its database, as the event calls it
    without_columns: frozenset[str] = frozenset()  # outputs of whose columns the event says nothing


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
    if len(inputs) + len(outputs) > MOST_DATASETS or len(inputs) * len(outputs) > MOST_EDGES:
        raise UnableToReadEvent(
            f"The event names {len(inputs)} inputs and {len(outputs)} outputs: at most {MOST_DATASETS} datasets and "
            f"{MOST_EDGES} pairs of an input and an output may be in one. Send an event for each part of the job."
        )
    facets_by_name = {**inputs, **outputs}
    states = {
        name: _facet(facets, "lifecycleStateChange").get("lifecycleStateChange") for name, facets in outputs.items()
    }
    dropped = tuple(name for name, state in states.items() if state == "DROP")
    window, counts = _nominal_window(run), _row_counts(body)
    owners: dict[str, str] = {}
    for name, facets in facets_by_name.items():
        owned = [owner for owner in _facet(facets, "ownership").get("owners") or [] if isinstance(owner, dict)]
        # of several the first of type OWNER
        owned.sort(key=lambda owner: str(owner.get("type")).upper() != "OWNER")
        if owned and (owner := _name(str(owned[0].get("name") or ""), "an owner")):
            owners[name] = owner
    sql = _facet(_facet(job, "facets"), "sql")
    query = str(sql.get("query") or "")
    without = [name for name, facets in outputs.items() if not query and not _facet(facets, "columnLineage")]
    return LineageEvent(
        job=_full_name(job, "job"),
        at=_instant(body.get("eventTime"), "eventTime"),
        run=_name(str(run.get("runId") or ""), "run.runId"),
        lineage=() if kind in ("FAIL", "ABORT") else _edges(inputs, outputs, dropped),
        columns={name: columns for name, facets in facets_by_name.items() if (columns := _columns(facets))},
        owners=owners,
        dropped=dropped if kind == "COMPLETE" else (),
        completed=tuple(
            JobCompletion(dataset=name, window=window, rows=counts.get(name), overwrites=state in REPLACING)
            for name, state in states.items()
            if kind == "COMPLETE" and name not in dropped
        ),
        sql=query,
        dialect=str(sql.get("dialect") or ""),
        without_columns=frozenset(without),
    )


def with_columns_of_sql(event: LineageEvent, columns: Mapping[str, Sequence[str]]) -> LineageEvent:
    """The event with the columns of edges that its SQL says, into a dataset of which no facet says any.

    ``columns`` are those that the catalog has, of datasets by full name; those of the event itself go before them.
    """
    if not event.sql or not event.lineage:
        return event
    known = {**columns, **{name: [column.name for column in own] for name, own in event.columns.items()}}
    inputs = {edge.upstream: known.get(edge.upstream, ()) for edge in event.lineage}
    outputs = {edge.downstream: known.get(edge.downstream, ()) for edge in event.lineage}
    clear = {edge.downstream for edge in event.lineage if edge.columns}
    written, read = columns_of_job(event.sql, event.dialect, inputs, outputs) if outputs.keys() - clear else ("", {})
    if written in clear:
        return event
    lineage = [
        replace(edge, columns=read.get(edge.upstream, {})) if edge.downstream == written else edge
        for edge in event.lineage
    ]
    return replace(event, lineage=tuple(lineage))


def _edges(
    inputs: Mapping[str, Any], outputs: Mapping[str, Mapping[str, Any]], dropped: Collection[str]
) -> tuple[LineageProfile, ...]:
    edges = []
    for downstream, facets in outputs.items():
        renamed, columns = _renamed(facets), _columns_read(facets)
        edges += [
            LineageProfile(
                upstream=upstream,
                downstream=downstream,
                keys=renamed.get(upstream, {}),
                columns=columns.get(upstream, {}),
            )
            for upstream in inputs
            if upstream != downstream and downstream not in dropped
        ]
    return tuple(edges)


def _renamed(facets: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Columns that are just one column of an input under another name, by input (the facet ``columnLineage``)."""
    fields = _facet(facets, "columnLineage").get("fields")
    renamed: dict[str, dict[str, str]] = {}
    for own, field_ in fields.items() if isinstance(fields, dict) else ():
        match field_:
            case {"inputFields": [{"field": str(name)} as source]} if name != own:
                steps = source.get("transformations") or []
                if all(isinstance(step, dict) and step.get("subtype") in (None, "IDENTITY") for step in steps):
                    renamed.setdefault(f"{source.get('namespace')}.{source.get('name')}", {})[own] = name
    return renamed


def _columns_read(facets: Mapping[str, Any]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Which columns of each input each column of the output is made of (the facet ``columnLineage``), by input.

    What filters and joins read is what all columns are made of.
    """
    facet = _facet(facets, "columnLineage")
    fields = facet.get("fields")
    read = {name: _facet(fields, name).get("inputFields") for name in fields} if isinstance(fields, dict) else {}
    columns: dict[str, dict[str, tuple[str, ...]]] = {}
    for own, sources in {**read, ANY: facet.get("dataset")}.items():
        for source in sources if isinstance(sources, list) else ():
            if isinstance(source, dict) and isinstance(name := source.get("field"), str):
                upstream = columns.setdefault(f"{source.get('namespace')}.{source.get('name')}", {})
                upstream[own] = tuple(dict.fromkeys((*upstream.get(own, ()), name)))
    return columns


def _datasets(body: Mapping[str, Any], side: str) -> dict[str, Mapping[str, Any]]:
    items = body.get(side) or []
    if not isinstance(items, list):
        raise UnableToReadEvent(f"{side} must be a list of datasets.")
    read = [_mapping(item, f"{side}[{index}]") for index, item in enumerate(items)]
    return {_full_name(item, f"{side}[{index}]"): _facet(item, "facets") for index, item in enumerate(read)}


def _columns(facets: Mapping[str, Any]) -> tuple[Column, ...]:
    fields = _facet(facets, "schema").get("fields") or []
    columns = []
    for field_ in fields:
        if isinstance(field_, dict) and isinstance(field_.get("name"), str):
            type_ = field_.get("type")  # none where it is no type, as some clients send what they do not know
            type_ = type_ if isinstance(type_, str) and is_column_type(type_) else ""
            columns.append(Column(name=_name(field_["name"], "a field"), type=type_))
    return tuple(columns)


def _row_counts(body: Mapping[str, Any]) -> dict[str, int]:
    counts = {}
    for index, item in enumerate(body.get("outputs") or []):
        count = _facet(_facet(item, "outputFacets"), "outputStatistics").get("rowCount")
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_ROWS:
            counts[_full_name(item, f"outputs[{index}]")] = count
    return counts


def _nominal_window(run: Mapping[str, Any]) -> Window | None:
    nominal = _facet(_facet(run, "facets"), "nominalTime")
    start, end = nominal.get("nominalStartTime"), nominal.get("nominalEndTime")
    if start is None or end is None:
        return None
    try:
        return Window(start=_instant(start, "nominalStartTime"), end=_instant(end, "nominalEndTime"))
    except UnableToReadWindow:
        return None  # some schedulers give the same instant twice: a nominal time, but no window


def _facet(facets: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    facet = facets.get(name)
    return facet if isinstance(facet, dict) else {}


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
