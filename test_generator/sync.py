"""Catalogs read: from files, by command or as scheduled, written whole or tried without writing.

What becomes of the tests follows in ``generation``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from django.db import transaction

from assay import clock
from assay.accounts import RequestOrigin, record
from assay.catalog.profile import (
    COLUMN,
    FILES,
    BindingProfile,
    CatalogProfile,
    CustomProfile,
    DatasetProfile,
    placeholders,
)
from assay.catalog.selectors import by_names, profile_of, slas
from assay.catalog.services import Applied, UnableToApply, apply_catalog, mark_changed, removal_fault
from assay.catalog.yaml.provider import CatalogReading, UnableToReadCatalog, read
from assay.catalog.yaml.source_names import claim_source, default_name
from assay.catalog.yaml.yaml_text import YamlProblem
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import Binding, Dataset, DataTest, LineageEdge, Origin, Pull, Source
from assay.queue.claims import attempt, claim, finish
from assay.queue.flow import stage
from assay.time.durations import format_duration, next_time
from execution_engine.engines.files.listing import refusal_of
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.planning.schedules import UnableToSchedule, check_line
from test_generator.data_tests.services import (
    ProfileNamed,
    UnableToWrite,
    catalogued,
    checked_tree,
    revise,
    start,
    write_data_test,
)
from test_generator.generation.generate import RETIRE_GRACE, changes, gap_of, generate
from test_generator.generation.standard import WantedGap, WantedTest
from test_generator.templates.rules import MadeChanges, MadeTest, by_template
from test_generator.templates.services import changes_of, fault_of, tell_templates

from .business_metrics import UnableToDefine, completed, with_business_metrics
from .definition import Definition
from .models import RuleTemplate

# The bindings of pipelines to tests that a source tells.

Key = tuple[str, str, str]  # pipeline, key of the dataset's name, test


def tell_bindings(told: Sequence[BindingProfile], *, source: str, full: bool) -> tuple[tuple[str, ...], list[str]]:
    """Write what a source tells, in place of what it told before.

    What came, changed or went, and a sentence for each that cannot be written.
    """
    rows = {_key(row): row for row in Binding.objects.select_related("dataset")}
    datasets = by_names({binding.dataset for binding in told})
    faults: list[str] = []
    kept: set[int] = set()
    changed: list[Binding] = []
    for binding in told:
        place = f"{binding.place}: " if binding.place else ""
        whose = f"{place}binding of {binding.pipeline!r} to {binding.dataset}, test {binding.test!r}"
        row = rows.get((binding.pipeline, name_key(binding.dataset), binding.test))
        if (dataset := datasets.get(binding.dataset)) is None:
            faults.append(f"{whose}: the catalog has no dataset {binding.dataset!r}; tell of it first")
        elif row is not None and row.source != source:
            faults.append(f"{whose}: the source {row.source!r} has it: keep it in one of the two")
        elif row is None:
            made = {"pipeline": binding.pipeline, "dataset": dataset, "test": binding.test, "strength": binding.gate}
            changed.append(Binding.objects.create(**made, source=source))
        else:
            kept.add(row.pk)
            if row.strength != binding.gate:
                row.strength = binding.gate
                row.save(update_fields=["strength"])
                changed.append(row)
    gone = [row for row in rows.values() if full and row.source == source and row.pk not in kept]
    Binding.objects.filter(pk__in=[row.pk for row in gone]).delete()
    return (*(f"{row} ({row.strength})" for row in changed), *(f"{row} (gone)" for row in gone)), faults


def idle_bindings(source: str) -> list[Binding]:
    """The bindings of a source to tests that are not live, and so are asked of nothing."""
    bindings = list(Binding.objects.filter(source=source).select_related("dataset").order_by("pk"))
    live = DataTest.objects.filter(dataset__in={row.dataset_id for row in bindings}, retired_at=None)
    names = set(live.values_list("dataset_id", "name"))
    return [row for row in bindings if (row.dataset_id, row.test) not in names]


def _key(row: Binding) -> Key:
    return row.pipeline, row.dataset.name_key, row.test


# A full sync with a provider: its catalog, and the tests and templates that its users wrote beside it.


@transaction.atomic
def sync(
    profile: CatalogProfile, *, source: str, full: bool = True, allow_removal: bool = False, now: datetime
) -> Applied:
    """Write all that ``profile`` tells: datasets, lineage, users' tests, templates and bindings; or, if wrong, nothing.

    The tests that templates make follow when their datasets are reconciled.
    """
    if refused := [f"{whose}: {reason}" for whose, reason, _ in refused_folders(profile)]:
        raise UnableToWrite("\n".join(refused))
    profile, of_metrics = with_business_metrics(profile, profiles_in(profile))
    if of_metrics:
        raise UnableToWrite("\n".join(of_metrics))
    applied = apply_catalog(profile, source=source, full=full, allow_removal=allow_removal, now=now)
    templates, of_templates = tell_templates(profile.templates, source=source, full=full, now=now)
    written, of_tests = _write_all(profile.custom, source=source, now=now)
    bindings, of_bindings = tell_bindings(profile.bindings, source=source, full=full)
    if faults := [*of_tests, *of_templates, *of_bindings]:
        raise UnableToWrite("\n".join(faults))
    if full:
        _note_gone(written, source=source, now=now)
    return replace(applied, templates=templates, bindings=bindings)


def refused_folders(profile: CatalogProfile) -> Iterator[tuple[str, str, str]]:
    """Folders on this machine whose files alone are no table: whose, why, and where that is told.

    What cannot be seen from here may be right.
    """
    for dataset in profile.datasets:
        for replica in dataset.replicas:
            if replica.storage in FILES and (reason := refusal_of(replica.location)):
                yield f"{dataset.full_name} in {replica.datacenter}", reason, dataset.place


def profiles_in(profile: CatalogProfile) -> ProfileNamed:
    """What is known of a dataset by its name: what the profile tells, or else what is in the catalog."""
    told = {name_key(dataset.full_name): dataset for dataset in profile.datasets}
    return lambda name: told.get(name_key(name)) or catalogued(name)


def remove_source(name: str, *, now: datetime) -> Applied:
    """Take a source away: what it told is retired after the grace, or sooner becomes another source's."""
    applied = sync(CatalogProfile(), source=name, allow_removal=True, now=now)
    Source.objects.filter(name=name).delete()
    return applied


def _write_all(told: tuple[CustomProfile, ...], *, source: str, now: datetime) -> tuple[set[int], list[str]]:
    """The ids of the tests that were written, and a sentence for each that could not be."""
    written, faults = set(), []
    datasets = by_names({custom.dataset for custom in told})
    for custom in told:
        try:
            written.add(_write(custom, datasets.get(custom.dataset), source=source, now=now).pk)
        except UnableToWrite as fault:
            place = f"{custom.place}: " if custom.place else ""
            faults.append(f"{place}{custom.dataset}, test {custom.name!r}: {fault}")
    return written, faults


def _note_gone(written: set[int], *, source: str, now: datetime) -> None:
    """Mark the tests that were written in the source and are gone from it: their grace begins."""
    known = DataTest.objects.filter(source=source, template="", missing_since__isnull=True, retired_at__isnull=True)
    gone = dict(known.exclude(pk__in=written).values_list("pk", "dataset__full_name"))
    DataTest.objects.filter(pk__in=gone).update(missing_since=now)
    mark_changed(set(gone.values()), now)


def _write(custom: CustomProfile, dataset: Dataset | None, *, source: str, now: datetime) -> DataTest:
    """The test as the source tells it; one that was retired lives again."""
    if dataset is None:
        raise UnableToWrite(f"the catalog has no dataset {custom.dataset!r}; tell of it first")
    row = DataTest.objects.filter(dataset=dataset, name=custom.name).select_related("dataset", "revision").first()
    said: dict[str, Any] = {
        name: getattr(custom, name) for name in ("assertion", "schedule", "severity", "sustain", "catch_up")
    }
    if row is None:
        row = write_data_test(
            dataset=dataset, name=custom.name, category=custom.category, author=source, now=now, **said
        )
    else:
        _refuse_others(row, source)
        if row.category != custom.category:  # its standings and incidents are of the old one
            raise UnableToWrite(f"its category is {row.category} and stays so: give it another name")
        DataTest.objects.filter(pk=row.pk).update(retired_at=None, template="")
        row.retired_at = None
        definition = Definition.by(slas(dataset), **said)  # what its source stopped saying is its dataset's again
        revise(row, definition, author=source, now=now)
        if row.next_due_at is None:  # it was retired, and comes back with the definition that it had
            start(row, now=now)
    DataTest.objects.filter(pk=row.pk).update(source=source, missing_since=None)
    return row


def _refuse_others(row: DataTest, source: str) -> None:
    """Raise UnableToWrite for a name that is a standard test's, or that of a live test which was written elsewhere."""
    if row.origin == Origin.GENERATED:
        raise UnableToWrite("that is the name of a standard test: give it another name")
    is_free = row.retired_at is not None or row.missing_since is not None
    if row.template and not is_free and RuleTemplate.objects.filter(name=row.template).exists():
        raise UnableToWrite(f"the template {row.template!r} makes a test of that name: give it another name")
    if row.source != source and not is_free:
        where = f"in the source {row.source!r}" if row.source else "by page or API"
        raise UnableToWrite(f"a test of that name was written {where}: give it another name, or retire that one first")


# A catalog in files: read with every mistake told at once, those of its assertions too, and written whole or not.


@transaction.atomic
def sync_files(path: Path, *, name: str = "", allow_removal: bool = False, now: datetime) -> tuple[Source, Applied]:
    """Write what a file or folder tells; raises UnableToReadCatalog, UnableToApply or UnableToWrite, and keeps none."""
    reading = _read(path, name)
    catalog = reading.catalog
    source = claim_source(path, catalog, told=reading.source, option=name, allow_removal=allow_removal)
    return source, sync(catalog, source=source.name, allow_removal=allow_removal, now=now)


def _read(path: Path, name: str) -> CatalogReading:
    """What a file or folder tells; raises UnableToReadCatalog with all mistakes, by file and line."""
    reading = read(path, lambda told: _elsewhere(told or name or default_name(path)))
    folders = (_problem(place, whose, reason) for whose, reason, place in refused_folders(reading.catalog))
    problems = [*reading.problems, *folders, *_assertion_problems(reading.catalog)]
    if problems:
        raise UnableToReadCatalog(problems)
    return reading


def _elsewhere(source: str) -> Mapping[str, bool]:
    """The datasets of other sources, by name in lower case, and whether they are partitioned."""
    others = Dataset.objects.filter(missing_since__isnull=True).exclude(source=source)
    return {name.lower(): bool(column) for name, column in others.values_list("full_name", "partition_column")}


def _assertion_problems(catalog: CatalogProfile) -> Iterator[tuple[Path, YamlProblem]]:
    """What is wrong with templates, and with the tests of datasets that are right in themselves, or another source's.

    Whether a template fits the datasets that it selects is seen there: one that it does not fit gets a gap.
    """
    named = profiles_in(catalog)
    metrics = {}
    for metric in catalog.business_metrics:
        try:
            metrics[metric.full_name.lower()] = completed(metric, named)
        except UnableToDefine as error:
            if all(map(named, _named_by(metric))):  # a name that is unknown is told already
                yield _problem(metric.place, f"business metric {metric.full_name!r}", str(error))

    def profile_named(name: str) -> DatasetProfile | None:
        return metrics.get(name.lower()) or named(name)

    for test in catalog.custom:
        home = profile_named(test.dataset)
        try:
            if home is None:  # told as a mistake of the dataset; what the text lacks by itself is told all the same
                parse(test.assertion)
                continue
            check_line(test.schedule)
            checked_tree(home, test.assertion, profile_named)
        except (UnableToSchedule, UnableToWrite, UnableToParse) as error:
            yield _problem(test.place, f"{test.dataset}, test {test.name!r}", str(error))
    for template in catalog.templates:
        is_known = {COLUMN, *template.parameters}.issuperset(placeholders(template.assertion))
        if is_known and (why := fault_of(template)):  # what stands between braces and is unknown, is told already
            yield _problem(template.place, f"template {template.name!r}", why)


def _named_by(metric: DatasetProfile) -> tuple[str, ...]:
    definition = metric.business_metric
    assert definition is not None
    return (*definition.sources, *(each.dataset for each in definition.served))


def _problem(place: str, whose: str, sentence: str) -> tuple[Path, YamlProblem]:
    file, _, line = place.rpartition(":")
    return Path(file), YamlProblem(line=int(line), path=whose, sentence=sentence)


# What a sync would do: done in a transaction that is rolled back, between two pictures of the catalog.

Sign = Literal["+", "~", "-"]
Fields = Mapping[str, str]
Picture = Mapping[tuple[str, str], Fields]  # what there is, by kind and name


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that comes, changes or goes, with its fields before and after."""

    sign: Sign
    kind: str  # dataset, lineage, test or binding
    name: str
    fields: Mapping[str, tuple[str, str]]


def differences(before: Picture, after: Picture) -> Iterable[Difference]:
    """What differs between two pictures, by kind and name; of what comes the fields that are not empty."""
    for kind, name in sorted({*before, *after}):
        old, new = before.get((kind, name)), after.get((kind, name))
        sign: Sign = "+" if old is None else "-" if new is None else "~"
        fields = {} if new is None else _changed(old or {}, new)
        if fields or sign != "~":
            yield Difference(sign=sign, kind=kind, name=name, fields=fields)


def _changed(old: Fields, new: Fields) -> dict[str, tuple[str, str]]:
    names = dict.fromkeys([*new, *old])
    return {name: (old.get(name, ""), new.get(name, "")) for name in names if old.get(name, "") != new.get(name, "")}


HIDDEN = frozenset({"namespace", "name", "place", "inherited_sensitive"})  # of a profile: what nobody writes there


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a sync of a source would change, what would stay without a test, and why it would be refused, if so."""

    source: str
    differences: tuple[Difference, ...]
    gaps: tuple[WantedGap, ...]
    refused: str | None


def plan(path: Path, *, name: str = "", now: datetime) -> Planned:
    """What ``sync_files`` would do; raises what it raises, and keeps nothing."""
    with transaction.atomic():
        try:
            before = _picture()
            source, applied = sync_files(path, name=name, allow_removal=True, now=now)
            fault = removal_fault(applied.missing, applied.known)
            changed = Dataset.objects.filter(reconcile_at__lte=now).prefetch_related("replicas").order_by("full_name")
            made = {dataset.pk: changes_of(dataset) for dataset in changed}
            generated = [
                each for dataset in changed for each in (*_generated(dataset, now), *_made(dataset, made[dataset.pk]))
            ]
            told = Dataset.objects.filter(source=source.name, missing_since__isnull=True).prefetch_related("replicas")
            gaps = tuple(gap for dataset in told.order_by("full_name") for gap in _gaps(dataset, made.get(dataset.pk)))
            found = (*differences(before, _picture()), *generated)
        finally:
            transaction.set_rollback(True)
    return Planned(source=source.name, differences=found, gaps=gaps, refused=fault)


def _picture() -> Picture:
    """The datasets, the lineage, and the users' tests that are live and have not left their source."""
    datasets = Dataset.objects.filter(missing_since__isnull=True).prefetch_related("replicas")
    edges = LineageEdge.objects.select_related("upstream", "downstream")
    live = DataTest.objects.filter(origin=Origin.USER, retired_at__isnull=True, missing_since__isnull=True)
    return {
        **{("dataset", row.full_name): _fields(_flat(row)) for row in datasets},
        **{
            ("lineage", f"{row.upstream} → {row.downstream}"): _fields(
                {"one_to_one": row.one_to_one, "sampled": row.sampled, "keys": row.keys}
            )
            for row in edges
        },
        **{
            ("test", f"{row.dataset}: {row.name}"): _fields(
                {"category": row.category, **_said(Definition.of(row.revision))}
            )
            for row in live.select_related("dataset", "revision")
            if row.revision
        },
        **{("binding", str(row)): {"gate": row.strength} for row in Binding.objects.select_related("dataset")},
    }


def _flat(dataset: Dataset) -> dict[str, Any]:
    """The metadata as its source writes it, SLAs and partition field by field."""
    told = {name: value for name, value in asdict(profile_of(dataset)).items() if name not in HIDDEN}
    parts = {name: told.pop(name) or {} for name in ("slas", "partition")}
    inside = {f"{part}.{name}": value for part, fields in parts.items() for name, value in fields.items()}
    columns = {column["name"]: column["type"] for column in told.pop("columns")}
    return {**told, **inside, "columns": columns}


def _gaps(dataset: Dataset, made: MadeChanges | None) -> Iterable[WantedGap]:
    yield from generate(dataset).gaps
    yield from (gap_of(dataset, lack) for lack in by_template((made or changes_of(dataset)).lacks))


def _made(dataset: Dataset, wanted: MadeChanges) -> Iterable[Difference]:
    """What becomes of the tests that templates make of a changed dataset."""
    live = [change for change in wanted.take if not (change.standing.is_retired or change.standing.is_leaving)]
    before = [*(change.standing.made for change in live), *(each.made for each in wanted.leave)]
    after = [*wanted.make, *(change.made for change in wanted.take)]
    yield from differences(
        *({("test", f"{dataset}: {test.name}"): _of_made(test) for test in each} for each in (before, after))
    )


def _generated(dataset: Dataset, now: datetime) -> Iterable[Difference]:
    """What becomes of the standard tests of a changed dataset, once the grace of what is gone is over."""
    wanted = changes(dataset, generate(dataset), now + RETIRE_GRACE)
    revised = [(change.existing.definition, change.wanted) for change in wanted.revise]
    come = [*wanted.create, *(change.wanted for change in wanted.revive)]
    gone = [test for test in wanted.retire if test.origin == "generated"]  # the others are in the pictures
    before = {("test", f"{dataset}: {test.name}"): _wanted(test) for test, _ in revised if test}
    after = {("test", f"{dataset}: {test.name}"): _wanted(test) for _, test in revised}
    yield from differences(
        {**before, **{("test", f"{dataset}: {test.name}"): {} for test in gone}},
        {**after, **{("test", f"{dataset}: {test.name}"): _wanted(test) for test in come}},
    )


def _of_made(test: MadeTest) -> Fields:
    own = {"category": test.category, "template": test.template, "datacenter": test.datacenter, "scope": test.scope}
    return _fields({**own, **_said(test.definition)})


def _wanted(test: WantedTest) -> Fields:
    own = {name: getattr(test, name) for name in ("category", "datacenter", "spoils", "scope")}
    return _fields({**own, **_said(test.definition)})


def _said(definition: Definition) -> dict[str, Any]:
    """What people write of a definition."""
    return {name: value for name, value in definition.columns.items() if name != "declared"}


def _fields(values: Mapping[str, Any]) -> Fields:
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    """A value as people write it; nothing for what is not said."""
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(inside)}" for key, inside in value.items() if inside)
    if isinstance(value, list | tuple):
        return "; ".join(_text(inside) for inside in value)
    return "" if value is None else str(value)


# The scheduled read of a catalog: the same sync as the command's; what is refused leaves the catalog as it was.

ORIGIN = RequestOrigin(actor="assay", via="pull")
LEASE = timedelta(minutes=15)  # a large catalog takes longer than a row of other stages


def pull_due() -> int:
    """Read the catalog if that is due; how many were read."""
    now = clock.now()
    rows = claim(stage("pull"), now=now, limit=1, lease=LEASE)
    for row in rows:
        attempt("pull", row, now, pull)
    return len(rows)


def pull(row: Pull, now: datetime) -> None:
    """Read the catalog and note what came of it; ends the stage ``pull``."""
    conf = config()
    if conf.catalog_path is None:  # the settings have changed since the row was made
        row.delete()
        return
    again = next_time(conf.catalog_every, now)
    try:
        with transaction.atomic():
            source, applied = sync_files(conf.catalog_path, name=conf.catalog_source, now=now)
            told = {what: getattr(applied, what) for what in ("created", "changed", "missing", "templates", "bindings")}
            if any(told.values()):
                record(ORIGIN, "catalog.synced", kind="catalog", key=source.name, before=None, after=told)
    except (UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
        # on-call is told of the first of the reads in a row that were refused
        tell_at = None if row.told_since else row.tell_at or now
        finish(row, due_at=again, failing_since=row.failing_since or now, fault=str(error), tell_at=tell_at)
    else:
        tell_at = now if row.told_since else None
        finish(row, due_at=again, read_at=now, failing_since=None, fault="", tell_at=tell_at)
