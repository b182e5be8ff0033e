"""Create, revise and retire data tests; an assertion is parsed and type-checked before anything is written."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models import OuterRef, Subquery

from assay.catalog.column_types import ALL, Declared, counts_from, in_force, print_of
from assay.catalog.locations import PUSHED
from assay.catalog.profile import CategoryName, DatasetProfile, RowsTarget
from assay.catalog.selectors import (
    Surroundings,
    by_name,
    declared_by,
    home,
    profile_of,
    slas,
    surroundings,
    upstream_keys,
)
from assay.database.statements import in_parts, insert_rows, update_each
from assay.models import Category, Dataset, DataTest, Origin, Revision, Scope, Severity
from assay.time.windows import Granularity, Partitioning, aligned
from execution_engine.disclosure import Privacy, full_name_of, objection, others_of, privacy_of
from execution_engine.engines.column_types import with_fields
from execution_engine.language.checking import DatasetSchema, UnableToCheck, check
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.serialise import from_json, to_json
from execution_engine.language.templates import UnableToRender, render
from execution_engine.language.tree import Assertion, Metric, metric_of, operands
from execution_engine.metrics.definition import ArgumentType, ColumnKind, column_kind
from execution_engine.metrics.definitions.freshness import NAMES as OF_BUSINESS_METRIC
from execution_engine.metrics.definitions.schema import DECLARED, OF, SCHEMA_DRIFT
from execution_engine.metrics.expressions import path_of, written
from execution_engine.metrics.registry import GROUPABLE, METRICS, SIGNATURES
from execution_engine.metrics.spec import MetricSpec
from execution_engine.planning.schedules import UnableToSchedule, check_line
from execution_engine.services import UnableToKeepRows, check_target, end_rows, first_cursor

from .definition import DataTestSpec, Definition

# Which of its dataset's declared columns an assertion holds the data to.


def held_to_declared(definition: Definition, dataset: Dataset) -> Definition:
    """The definition with the print of the columns that the dataset declares now; raises UnableToWrite."""
    if not definition.declared and SCHEMA_DRIFT.name not in definition.assertion:
        return definition
    try:
        return replace(definition, declared=declared_print(definition.assertion, dataset))
    except UnableToParse as error:
        raise UnableToWrite(str(error)) from None


def declared_print(assertion: str, dataset: Dataset) -> str:
    """What changes whenever the columns do that an assertion, which can be parsed, holds data to."""
    return print_of(_held_columns(parse(assertion), dataset)) if SCHEMA_DRIFT.name in assertion else ""


def judges_from(data_test: DataTest, revision: Revision) -> datetime | None:
    """From when on any of its columns is declared as it is; None where that does not limit what a test judges."""
    dataset = data_test.dataset
    if not revision.declared or dataset.partitioning is None or data_test.scope == Scope.TABLE:
        return None
    return counts_from(_held_columns(from_json(revision.tree), dataset))


def _held_columns(tree: Assertion, dataset: Dataset) -> tuple[Declared, ...]:
    own = [m.spec for m in _metrics(tree) if m.dataset is None and m.spec.name == SCHEMA_DRIFT.name]
    selections = [str(spec.option(OF, ALL)) for spec in own if spec.option(DECLARED) is None]
    columns = declared_by(dataset) if selections else ()
    return tuple(dict.fromkeys(column for of in selections for column in in_force(columns, of)))


# Whether an assertion may measure what it names: data that is there, partitions that align, readers who may see it.

ProfileNamed = Callable[[str], DatasetProfile | None]
UpstreamsOf = Callable[[str], frozenset[str]]  # the keys of the names of what feeds a dataset


def unmeasurable(metrics: Sequence[Metric], home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says which metric asks a business metric for rows, or a table for its value, if any does."""
    for metric in metrics:
        of = profile_named(metric.dataset) if metric.dataset else home
        read = [(name, profile_named(name)) for name in others_of(metric.spec, None, home.full_name)]
        if computed := [name for name, other in read if other and other.business_metric]:
            return f"{metric.text:.200} reads rows of {computed[0]}, a business metric, which has none"
        if of is None or (of.business_metric is not None) is (metric.spec.name in OF_BUSINESS_METRIC):
            continue
        if of.business_metric is None:
            names = ", ".join(sorted(OF_BUSINESS_METRIC))
            return f"{of.full_name} is no business metric, and only one has {names}: take another metric"
        sources = ", ".join(of.business_metric.sources)
        return (
            f"{metric.text:.200} reads rows, and {of.full_name} is a business metric, which has none: "
            f"take value(), or write the test of a source ({sources})"
        )
    return None


def misaligned(metrics: Sequence[Metric], home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says which metric's partitions do not align, if any do not."""
    for name in sorted({metric.dataset for metric in metrics if metric.dataset}):
        other = profile_named(name)
        if home.partition is None or other is None:
            continue
        if other.partition is None or not aligned(home.partition.partitioning, other.partition.partitioning):
            return f"partitions do not align: those of {name} do not tile those of {home.full_name}"
    return None


def disclosed_by(
    metrics: Iterable[Metric], home: DatasetProfile, profile_named: ProfileNamed, upstreams: frozenset[str]
) -> str | None:
    """The sentence that says what these metrics would tell of a dataset, or of one that feeds it, and must not."""

    def privacy_named(name: str) -> Privacy | None:
        other = profile_named(name)
        return privacy_of(other) if other else None

    own = privacy_of(home, upstreams=upstreams)
    return next(filter(None, (objection(own, m.spec, m.dataset, privacy_named) for m in metrics)), None)


def _metrics(tree: Assertion) -> list[Metric]:
    """The metrics that an assertion measures."""
    return [metric_of(operand) for operand in operands(tree)]


# Whether the SQL in an assertion is such as the guard allows, asked before it is saved.

_DAILY = Partitioning(granularity=Granularity.DAY, time_zone="UTC", key_format="")
_DAY = _DAILY.at(datetime(2026, 3, 9, tzinfo=UTC))  # any: what stands in templates makes no SQL harmful
_QUOTED = re.compile("`([^`]+)`")


def not_allowed(metrics: Sequence[Metric], home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says why the guard refuses a condition or a query of a metric, if it does."""
    for metric in metrics:
        spec, measured = metric.spec, metric.dataset or home.full_name
        signature = METRICS[spec.name].signature
        conditions = [*signature.texts(ArgumentType.SQL, spec.arguments), *([spec.where] if spec.where else [])]
        queries = signature.texts(ArgumentType.QUERY, spec.arguments)
        if not conditions and not queries:
            continue
        from execution_engine.disclosure import tables_of  # with it sqlglot, which is large
        from execution_engine.guard import UnableToAllow, read_condition, read_query

        try:
            for text in conditions:
                read_condition(render(text, _DAY, _DAILY))
            for text in queries:
                query = render(text, _DAY, _DAILY)
                tables = {name: profile_named(full_name_of(name, measured)) for name in tables_of(query)}
                profiles = {name: profile for name, profile in tables.items() if profile is not None}
                read_query(query, profiles, _query_columns(query, profiles.values()))
        except UnableToRender:
            continue  # said of the assertion itself
        except UnableToAllow as error:
            return f"{metric.text:.200}: {error}"
    return None


def _query_columns(query: str, tables: Iterable[DatasetProfile]) -> set[str]:
    """The names that may stand in backticks: those of the tables, or any where one of them declares no columns."""
    names: set[str] = set()
    for table in tables:
        if not table.columns:
            return set(_QUOTED.findall(query))
        fields = with_fields({column.name: column.type for column in table.columns})
        names |= {part for column in fields for part in path_of(column)}
        names |= {table.partition.column} if table.partition else set()
    return names


class UnableToWrite(Exception):
    """A data test that cannot be written; the message says what is wrong, where, and how to mend it."""


class UnableToUseStore(UnableToWrite):
    """Its failing rows cannot be kept where it says."""


def checked_tree(
    own: DatasetProfile, assertion: str, profile_named: ProfileNamed, upstreams_of: UpstreamsOf = upstream_keys
) -> dict[str, Any]:
    """The tree of an assertion that fits the dataset of this profile, as JSON; raises UnableToWrite."""
    try:
        tree = parse(assertion)
        check(
            tree,
            home=schema(own),
            schema_of=lambda name: schema(other) if (other := profile_named(name)) else None,
            signatures=SIGNATURES,
            source=assertion,
            groupable=GROUPABLE,
            fault_of=fault_of,
        )
    except (UnableToParse, UnableToCheck) as error:
        raise UnableToWrite(str(error)) from None
    metrics = _metrics(tree)
    reads_others = any(others_of(metric.spec, metric.dataset, own.full_name) for metric in metrics)
    upstreams = upstreams_of(own.full_name) if reads_others else frozenset()
    if obstacle := (
        unmeasurable(metrics, own, profile_named)
        or misaligned(metrics, own, profile_named)
        or disclosed_by(metrics, own, profile_named, upstreams)
        or not_allowed(metrics, own, profile_named)
    ):
        raise UnableToWrite(obstacle)
    return to_json(tree)


def fault_of(spec: MetricSpec) -> str | None:
    """What is wrong with a call beyond its signature, if anything is."""
    problem = METRICS[spec.name].problem
    return problem(spec) if problem else None


def catalogued(name: str) -> DatasetProfile | None:
    """The metadata of the dataset of this name, if the catalog has it."""
    dataset = by_name(name)
    return profile_of(dataset) if dataset else None


def unwritten(dataset: Dataset, spec: DataTestSpec, *, origin: Origin, source: str = "", now: datetime) -> DataTest:
    """A new data test, which ``write_revisions`` writes."""
    values = {name: value for name, value in vars(spec).items() if name != "definition"}
    return DataTest(dataset=dataset, **values, origin=origin, source=source, created_at=now)


def rewrite(data_test: DataTest, spec: DataTestSpec, *, source: str = "") -> None:
    """Let a test that is live, was retired or has left its source be this one, but for its definition."""
    values = {name: value for name, value in vars(spec).items() if name not in ("name", "definition")}
    values |= {"source": source, "retired_at": None, "missing_since": None}
    for name, value in values.items():
        setattr(data_test, name, value)
    data_test.save(update_fields=[*values])


def differs(data_test: DataTest, definition: Definition) -> bool:
    """Whether a test that is to be of this definition needs a new revision."""
    return held_to_declared(definition, data_test.dataset) != Definition.of(data_test.revision)


@transaction.atomic
def revise(data_test: DataTest, definition: Definition, *, author: str, now: datetime) -> DataTest:
    """The data test with a new revision, if anything differs; what is broken is then judged anew by it."""
    if differs(data_test, definition):
        around = surroundings([data_test.dataset])
        write_revisions([(data_test, definition)], around=around, author=author, now=now)
    return data_test


CURSOR = ("judges_from", "next_due_at", "next_window_start", "next_window_end")


@transaction.atomic
def write_revisions(
    definitions: Sequence[tuple[DataTest, Definition]], *, around: Surroundings, author: str, now: datetime
) -> None:
    """Write a new revision of each test, and the tests themselves that are new; raises UnableToWrite."""
    insert_revisions([revision_of(*pair, around=around, author=author, now=now) for pair in definitions], around, now)


def insert_revisions(revisions: Sequence[Revision], around: Surroundings, now: datetime) -> None:
    """Write revisions, one of each test, and the tests themselves that are new."""
    tests = [revision.data_test for revision in revisions]
    new, others = [row for row in tests if row.pk is None], [row for row in tests if row.pk is not None]
    for data_test, revision in zip(tests, revisions, strict=True):
        _set_cursor(data_test, revision, around=around, now=now)
    insert_rows(new, "dataset_id", "name")
    for data_test, revision in zip(tests, revisions, strict=True):
        revision.data_test = data_test
    insert_rows(revisions, "data_test_id", "number")
    for data_test, revision in zip(tests, revisions, strict=True):
        data_test.revision = revision
    only = Revision.objects.filter(data_test=OuterRef("pk"))
    for ids in in_parts(row.pk for row in new):
        DataTest.objects.filter(pk__in=ids).update(revision=Subquery(only.values("pk")[:1]))
    update_each(others, ("revision", *CURSOR))


def revision_of(
    data_test: DataTest, definition: Definition, *, around: Surroundings, author: str, now: datetime
) -> Revision:
    """The next revision of a test, not written yet; raises UnableToWrite.

    Of a test that is new nothing was judged by an earlier one, and nothing is judged anew.
    """
    try:
        check_line(definition.schedule)
    except UnableToSchedule as error:
        raise UnableToWrite(str(error)) from None
    dataset, previous = data_test.dataset, data_test.revision
    own = around.profile_of(dataset)
    definition = held_to_declared(definition, dataset)
    if definition.keep_rows:
        try:
            check_target(RowsTarget(**definition.keep_rows), own)
        except UnableToKeepRows as error:
            raise UnableToUseStore(f"keep_rows: {error}") from None
    elif previous and previous.keep_rows:
        end_rows(data_test, now)
    return Revision(
        data_test=data_test,
        number=previous.number + 1 if previous else 1,
        tree=checked_tree(own, definition.assertion, around.profile_named, around.upstream_keys),
        **definition.columns,
        created_at=now,
        author=author,
        rejudged_at=None if data_test.pk else now,
    )


def start(data_test: DataTest, *, now: datetime) -> None:
    """Put the cursor of a revived test on its next window."""
    assert data_test.revision is not None
    _set_cursor(data_test, data_test.revision, around=surroundings([data_test.dataset]), now=now)
    data_test.save(update_fields=CURSOR)


def _set_cursor(data_test: DataTest, revision: Revision, *, around: Surroundings, now: datetime) -> None:
    data_test.judges_from = judges_from(data_test, revision)
    slot = first_cursor(data_test, revision, now, around.rows_named)
    data_test.next_due_at = slot.due_at
    data_test.next_window_start, data_test.next_window_end = slot.window.start, slot.window.end


def retire(data_test: DataTest, *, now: datetime) -> None:
    """End a data test; what it holds spoilt is withdrawn when its last revision is judged anew."""
    assert data_test.revision is not None
    data_test.retired_at = now
    data_test.next_due_at = None
    data_test.save(update_fields=["retired_at", "next_due_at"])
    data_test.revisions.filter(number=data_test.revision.number).update(rejudged_at=None)


@dataclass(frozen=True, kw_only=True)
class NotEdited:
    """Why nobody revises or retires a test by page or API, and what to do in place of that."""

    why: str
    mend: str


def not_edited(data_test: DataTest) -> NotEdited | None:
    """Why a test is not edited by hand; None for a user's own."""
    if data_test.origin == Origin.GENERATED:
        why = f"{data_test} is generated from metadata."
        return NotEdited(why=why, mend="Change the dataset's SLA, tier or severity.")
    if data_test.retired_at is not None:
        return NotEdited(why=f"{data_test} was retired.", mend="Write a new test under another name.")
    if data_test.template:
        where = f"in its catalog, the source {data_test.source!r}"
        where = "on the page Templates or by /api/v1/templates" if data_test.source == PUSHED else where
        mend = f"Change the template {where}: it makes its tests anew."
        return NotEdited(why=f"{data_test} is made by the template {data_test.template!r}.", mend=mend)
    return None


def write_data_test(
    *,
    dataset: Dataset,
    name: str,
    assertion: str,
    category: str = Category.CUSTOM,
    severity: str | None = None,
    schedule: str = "partition",
    sustain: timedelta | None = None,
    catch_up: str | None = None,
    keep_rows: RowsTarget | None = None,
    author: str,
    now: datetime,
) -> DataTest:
    """A user's test; raises UnableToWrite for one that exists or cannot be evaluated."""
    if DataTest.objects.filter(dataset=dataset, name=name).exists():
        raise UnableToWrite(f"{dataset.full_name} has a test called {name!r} already: revise it, or take another name")
    if severity and severity not in Severity.values:
        raise UnableToWrite(f"no severity {severity!r}: take hard or soft")
    definition = Definition.by(
        slas(dataset),
        assertion=assertion,
        schedule=schedule,
        severity=severity,
        sustain=sustain,
        catch_up=catch_up,
        keep_rows=keep_rows,
    )
    row = unwritten_test(dataset, name, definition, category=category, now=now)
    write_revisions([(row, definition)], around=surroundings([dataset]), author=author, now=now)
    return row


def unwritten_test(dataset: Dataset, name: str, definition: Definition, *, category: str, now: datetime) -> DataTest:
    """A new test of a user, which ``insert_revisions`` writes; raises UnableToWrite for a category that is none."""
    if category not in Category.values:
        raise UnableToWrite(f"no category {category!r}: take one of {', '.join(Category.values)}")
    spec = DataTestSpec(
        name=name,
        category=cast(CategoryName, category),
        definition=definition,
        datacenter=home(dataset).datacenter,
        scope="partition" if dataset.partitioning and definition.schedule != "weekly" else "table",
    )
    return unwritten(dataset, spec, origin=Origin.USER, now=now)


def draft(
    dataset: Dataset, assertion: str, *, category: str = Category.CUSTOM, severity: str | None = None
) -> DataTest:
    """A test of the dataset's partitions that is written nowhere yet; raises UnableToWrite as for one that is."""
    definition = Definition.by(slas(dataset), assertion=assertion, schedule="partition", severity=severity)
    test = DataTest(
        dataset=dataset,
        name="",
        category=category,
        origin=Origin.USER,
        scope=Scope.PARTITION,
        datacenter=home(dataset).datacenter,
    )
    tree = checked_tree(profile_of(dataset), assertion, catalogued)
    test.revision = Revision(data_test=test, number=1, tree=tree, **definition.columns)
    return test


def schema(profile: DatasetProfile) -> DatasetSchema:
    """The schema of a dataset; its columns are unknown where its metadata names none."""
    declared = with_fields({column.name: column.type.strip() for column in profile.columns})
    columns = {name: column_kind(type_) for name, type_ in declared.items()}
    if columns and profile.partition:
        columns.setdefault(written(profile.partition.column), ColumnKind.ANY)
    return DatasetSchema(
        name=profile.full_name,
        columns=columns or None,
        datacenters=tuple(replica.datacenter for replica in profile.replicas),
        partitioned=profile.partition is not None,
        granularity=profile.partition.granularity if profile.partition else None,
    )
