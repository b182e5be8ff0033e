"""Create, revise and retire data tests; an assertion is parsed and type-checked before anything is written."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import by_name, home, profile_of, slas
from assay.models import Category, Dataset, DataTest, Origin, Revision, Scope, Severity
from execution_engine.engines.columns.nested import with_fields
from execution_engine.language.checking.schema import DatasetSchema
from execution_engine.language.checking.type_check import UnableToCheck, check
from execution_engine.language.parsing.parse import UnableToParse, parse
from execution_engine.language.serialise import to_json
from execution_engine.metrics.columns import written
from execution_engine.metrics.registry import GROUPABLE, METRICS, SIGNATURES
from execution_engine.metrics.signature import ColumnKind, column_kind
from execution_engine.metrics.spec import MetricSpec
from execution_engine.planning.schedules import UnableToSchedule, check_line
from execution_engine.services import first_cursor
from test_generator.definition import Definition

from .held_to import held_to_declared, judges_from
from .upstream_operands import ProfileNamed, misaligned, undisclosed, unmeasurable
from .user_sql import not_allowed


class UnableToWrite(Exception):
    """A data test that cannot be written; the message says what is wrong, where, and how to mend it."""


def checked_tree(own: DatasetProfile, assertion: str, profile_named: ProfileNamed) -> dict[str, Any]:
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
    for obstacle_of in (unmeasurable, misaligned, undisclosed, not_allowed):
        if obstacle := obstacle_of(tree, own, profile_named):
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


@transaction.atomic
def create(
    dataset: Dataset,
    definition: Definition,
    *,
    name: str,
    category: str,
    origin: Origin,
    scope: str,
    datacenter: str,
    spoils: str,
    author: str,
    now: datetime,
) -> DataTest:
    """A new data test with its first revision and its first due window."""
    data_test = DataTest.objects.create(
        dataset=dataset,
        name=name,
        category=category,
        origin=origin,
        scope=scope,
        datacenter=datacenter,
        spoils=spoils,
        created_at=now,
    )
    # Nothing has been judged by an earlier revision, so there is nothing to judge anew.
    return _write_revision(data_test, definition, author=author, now=now, rejudged_at=now)


@transaction.atomic
def revise(data_test: DataTest, definition: Definition, *, author: str, now: datetime) -> DataTest:
    """The data test with a new revision, if anything differs; what is broken is then judged anew by it."""
    if _held(definition, data_test.dataset) == Definition.of(data_test.revision):
        return data_test
    return _write_revision(data_test, definition, author=author, now=now, rejudged_at=None)


def _held(definition: Definition, dataset: Dataset) -> Definition:
    try:
        return held_to_declared(definition, dataset)
    except UnableToParse as error:
        raise UnableToWrite(str(error)) from None


def _write_revision(
    data_test: DataTest, definition: Definition, *, author: str, now: datetime, rejudged_at: datetime | None
) -> DataTest:
    try:
        check_line(definition.schedule)
    except UnableToSchedule as error:
        raise UnableToWrite(str(error)) from None
    definition = _held(definition, data_test.dataset)
    number = data_test.revision.number + 1 if data_test.revision else 1
    data_test.revision = Revision.objects.create(
        data_test=data_test,
        number=number,
        tree=checked_tree(profile_of(data_test.dataset), definition.assertion, catalogued),
        **definition.columns,
        created_at=now,
        author=author,
        rejudged_at=rejudged_at,
    )
    data_test.save(update_fields=["revision"])
    start(data_test, now=now)
    return data_test


def start(data_test: DataTest, *, now: datetime) -> None:
    """Put the cursor of a new, revised or revived test on its next window."""
    revision = data_test.revision
    assert revision is not None
    data_test.judges_from = judges_from(data_test)
    slot = first_cursor(data_test, revision, now)
    data_test.next_due_at = slot.due_at
    data_test.next_window_start, data_test.next_window_end = slot.window.start, slot.window.end
    data_test.save(update_fields=["judges_from", "next_due_at", "next_window_start", "next_window_end"])


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
        mend = f"Change the template in its catalog, the source {data_test.source!r}: it makes its tests anew."
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
    author: str,
    now: datetime,
) -> DataTest:
    """A user's test; raises UnableToWrite for one that exists or cannot be evaluated."""
    if DataTest.objects.filter(dataset=dataset, name=name).exists():
        raise UnableToWrite(f"{dataset.full_name} has a test called {name!r} already: revise it, or take another name")
    if category not in Category.values:
        raise UnableToWrite(f"no category {category!r}: take one of {', '.join(Category.values)}")
    if severity and severity not in Severity.values:
        raise UnableToWrite(f"no severity {severity!r}: take hard or soft")
    definition = Definition.by(
        slas(dataset),
        assertion=assertion,
        schedule=schedule,
        severity=severity,
        sustain=sustain,
        catch_up=catch_up,
    )
    scope = Scope.PARTITION if dataset.partitioning and schedule != "weekly" else Scope.TABLE
    return create(
        dataset,
        definition,
        name=name,
        category=category,
        origin=Origin.USER,
        scope=scope,
        datacenter=home(dataset).datacenter,
        spoils="",
        author=author,
        now=now,
    )


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
