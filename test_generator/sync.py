"""Catalogs read: from files, by command or as scheduled, written whole or tried without writing.

What becomes of the tests follows in ``generation``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from django.db import transaction

from assay.catalog.profile import (
    COLUMN,
    FILES,
    BindingProfile,
    CatalogProfile,
    CustomProfile,
    DatasetProfile,
    placeholders,
)
from assay.catalog.selectors import by_names, profile_of, slas, surroundings
from assay.catalog.services import MOST_GONE, Applied, UnableToApply, apply_catalog, mark_changed, removal_fault
from assay.catalog.yaml.provider import UnableToReadCatalog, read, source_fault
from assay.catalog.yaml.yaml_text import YamlProblem
from assay.database.name_keys import name_key, name_keys
from assay.database.statements import in_parts, update_each
from assay.models import Binding, Dataset, DataTest, LineageEdge, Origin, Source
from assay.time.durations import format_duration
from execution_engine.engines.files.listing import refusal_of
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.planning.schedules import UnableToSchedule, check_line
from execution_engine.services import obsolete_ids
from test_generator.generation.generate import RETIRE_GRACE, changes, generate, stored_tests
from test_generator.templates.rules import MadeChanges, by_template
from test_generator.templates.services import changes_of, fault_of, tell_templates, template_of

from .business_metrics import UnableToDefine, completed, with_business_metrics
from .data_tests import (
    ProfileNamed,
    UnableToWrite,
    catalogued,
    checked_tree,
    differs,
    insert_revisions,
    revision_of,
    start,
    unwritten_test,
)
from .definition import DataTestSpec, Definition, GapSpec, Generation
from .models import Gap, RuleTemplate


def tell_bindings(bindings: Sequence[BindingProfile], *, source: str, full: bool) -> tuple[tuple[str, ...], list[str]]:
    """Write what a source tells, in place of what it told before.

    What came, changed or went, and a sentence for each that cannot be written.
    """
    rows = {(row.pipeline, row.dataset.name_key, row.test): row for row in Binding.objects.select_related("dataset")}
    datasets = by_names({binding.dataset for binding in bindings})
    faults: list[str] = []
    present: set[int] = set()
    changed: list[Binding] = []
    for binding in bindings:
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
            present.add(row.pk)
            if row.strength != binding.gate:
                row.strength = binding.gate
                row.save(update_fields=["strength"])
                changed.append(row)
    gone = [row for row in rows.values() if full and row.source == source and row.pk not in present]
    Binding.objects.filter(pk__in=[row.pk for row in gone]).delete()
    return (*(f"{row} ({row.strength})" for row in changed), *(f"{row} (gone)" for row in gone)), faults


def idle_bindings(source: str) -> list[Binding]:
    """The bindings of a source to tests that are not live, and so are asked of nothing."""
    bindings = list(Binding.objects.filter(source=source).select_related("dataset").order_by("pk"))
    live = DataTest.objects.filter(dataset__in={row.dataset_id for row in bindings}, retired_at=None)
    names = set(live.values_list("dataset_id", "name"))
    return [row for row in bindings if (row.dataset_id, row.test) not in names]


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
    of_tests = write_tests(profile.custom, source=source, full=full, now=now)
    bindings, of_bindings = tell_bindings(profile.bindings, source=source, full=full)
    if faults := [*of_tests, *of_templates, *of_bindings]:
        raise UnableToWrite("\n".join(faults))
    return replace(applied, templates=templates, bindings=bindings)


def write_tests(tests: Sequence[CustomProfile], *, source: str, full: bool, now: datetime) -> list[str]:
    """Write the tests of a source; a sentence for each that cannot be written.

    With ``full`` the grace of those begins that were written in the source and are gone from it.
    """
    written: set[int] = set()
    faults: list[str] = []
    for part in in_parts(tests):
        rows, of_part = _write_part(part, source=source, now=now)
        written |= {row.pk for row in rows}
        faults += of_part
    if full:
        live = DataTest.objects.filter(source=source, template="", missing_since__isnull=True, retired_at__isnull=True)
        gone = {pk: name for pk, name in live.values_list("pk", "dataset__full_name") if pk not in written}
        for ids in in_parts(gone):
            DataTest.objects.filter(pk__in=ids).update(missing_since=now)
        mark_changed(set(gone.values()), now)
    return faults


def refused_folders(profile: CatalogProfile) -> Iterator[tuple[str, str, str]]:
    """Folders on this machine whose files alone are no table: whose, why, and where that is told.

    What cannot be seen from here may be right.
    """
    for dataset in profile.datasets:
        for replica in dataset.replicas:
            if replica.storage in FILES and (reason := refusal_of(replica.location, replica.storage)):
                yield f"{dataset.full_name} in {replica.datacenter}", reason, dataset.place


def profiles_in(profile: CatalogProfile) -> ProfileNamed:
    """What is known of a dataset by its name: what the profile tells, or else what is in the catalog."""
    by_key = {name_key(dataset.full_name): dataset for dataset in profile.datasets}
    return lambda name: by_key.get(name_key(name)) or catalogued(name)


def remove_source(name: str, *, now: datetime) -> Applied:
    """Take a source away: what it told is retired after the grace, or sooner becomes another source's."""
    applied = sync(CatalogProfile(), source=name, allow_removal=True, now=now)
    Source.objects.filter(name=name).delete()
    return applied


def _write_part(tests: Sequence[CustomProfile], *, source: str, now: datetime) -> tuple[list[DataTest], list[str]]:
    """The rows of these tests, as the source tells them, and a sentence for each test that cannot be written."""
    datasets = by_names({custom.dataset for custom in tests})
    around = surroundings(list({dataset.pk: dataset for dataset in datasets.values()}.values()))
    named = DataTest.objects.filter(dataset__in=datasets.values(), name__in={custom.name for custom in tests})
    stored = {(row.dataset_id, row.name): row for row in named.select_related("revision")}
    rows: dict[tuple[int, str], DataTest] = {}
    changed, revisions, faults = [], [], []
    for custom in tests:
        try:
            if (dataset := datasets.get(custom.dataset)) is None:
                raise UnableToWrite(f"the catalog has no dataset {custom.dataset!r}; tell of it first")
            if (key := (dataset.pk, custom.name.casefold())) in rows:  # some databases tell no case from another
                raise UnableToWrite("another test of the source has that name, in any case: give it another name")
            row = stored.get((dataset.pk, custom.name)) or _stored_test(dataset, custom.name)
            definition = _definition_of(custom, dataset)
            if row is None:
                row = unwritten_test(dataset, custom.name, definition, category=custom.category, now=now)
            else:
                _refuse_takeover(row, custom, source)
                row.dataset = dataset
            if row.revision is None or differs(row, definition):
                revisions.append(revision_of(row, definition, around=around, author=source, now=now))
            elif row.next_due_at is None:  # it was retired, and comes back with the definition that it had
                start(row, now=now)
            if row.pk and (row.source, row.template, row.retired_at, row.missing_since) != (source, "", None, None):
                changed.append(row)
            row.source, row.template, row.retired_at, row.missing_since = source, "", None, None
            rows[key] = row
        except UnableToWrite as fault:
            place = f"{custom.place}: " if custom.place else ""
            faults.append(f"{place}{custom.dataset}, test {custom.name!r}: {fault}")
    update_each(changed, ("source", "template", "retired_at", "missing_since"))
    insert_revisions(revisions, around, now)
    return list(rows.values()), faults


def _stored_test(dataset: Dataset, name: str) -> DataTest | None:
    """The test of this name, in whatever case where the database tells no case from another."""
    return DataTest.objects.filter(dataset=dataset, name=name).select_related("revision").first()


def _definition_of(custom: CustomProfile, dataset: Dataset) -> Definition:
    """What the source says of the test, and for what it leaves open what its dataset is held to."""
    names = ("assertion", "severity", "sustain", "catch_up", "keep_rows")
    values: dict[str, Any] = {name: getattr(custom, name) for name in names}
    schedule = custom.schedule or ("partition" if dataset.partition_column else "weekly")
    return Definition.by(slas(dataset), schedule=schedule, **values)


def _refuse_takeover(row: DataTest, custom: CustomProfile, source: str) -> None:
    """Raise UnableToWrite where the name is a standard test's, or that of a live test which was written elsewhere.

    A test that was retired lives again.
    """
    if row.origin == Origin.GENERATED:
        raise UnableToWrite("that is the name of a standard test: give it another name")
    is_free = row.retired_at is not None or row.missing_since is not None
    if row.template and not is_free and RuleTemplate.objects.filter(name=row.template).exists():
        raise UnableToWrite(f"the template {row.template!r} makes a test of that name: give it another name")
    if row.source != source and not is_free:
        where = f"in the source {row.source!r}" if row.source else "by page or API"
        raise UnableToWrite(f"a test of that name was written {where}: give it another name, or retire that one first")
    if row.category != custom.category:  # its standings and incidents are of the old one
        raise UnableToWrite(f"its category is {row.category} and stays so: give it another name")


# A catalog in files: read with every mistake told at once, those of its assertions too, and written whole or not.


@transaction.atomic
def sync_files(path: Path, *, name: str = "", allow_removal: bool = False, now: datetime) -> tuple[Source, Applied]:
    """Write what a file or folder tells; raises UnableToReadCatalog, UnableToApply or UnableToWrite, and keeps none."""

    def other_datasets(source: str) -> dict[str, bool]:
        rows = Dataset.objects.filter(missing_since__isnull=True).exclude(source=source or name or default_name(path))
        return {key.lower(): bool(column) for key, column in rows.values_list("full_name", "partition_column")}

    reading = read(path, other_datasets)
    catalog = reading.catalog
    folders = (_problem(place, whose, reason) for whose, reason, place in refused_folders(catalog))
    if problems := [*reading.problems, *folders, *_assertion_problems(catalog)]:
        raise UnableToReadCatalog(problems)
    source = _claim_source(path, catalog, reading.source, name, allow_removal=allow_removal)
    return source, sync(catalog, source=source.name, allow_removal=allow_removal, now=now)


def _claim_source(path: Path, catalog: CatalogProfile, own: str, option: str, *, allow_removal: bool) -> Source:
    """The source that ``path`` is read as, by its ``own`` name or the one of the ``option``; raises UnableToApply.

    A name that nobody gave is that of the file or folder, and only the first of that name may have it. A name that
    was given may move, as when each check-out has a folder of its own, but not to a catalog of other datasets.
    """
    if own and option and own != option:
        raise UnableToApply(f"{path} says `source: {own}`, and --source says {option}: keep one of the two")
    place, name = str(path.resolve()), own or option or default_name(path)
    if fault := source_fault(name):
        raise UnableToApply(f"{path}: the name of its source: {fault}; write `source: NAME` in it, or give --source")
    source, _ = Source.objects.get_or_create(name=name)
    if source.place == place:
        return source
    if source.place and not (own or option):
        raise UnableToApply(
            f"the source {source} is another file: write `source: NAME` in {path}, or give --source NAME; "
            f"--source {name} if it is the same one that was moved"
        )
    if source.place and not allow_removal:
        keys = name_keys([dataset.full_name for dataset in (*catalog.datasets, *catalog.business_metrics)])
        rows = Dataset.objects.filter(source=name, missing_since__isnull=True)
        if rows.exists() and not rows.filter(name_key__in=keys).exists():
            raise UnableToApply(
                f"the source {source} tells of other datasets, and {path} of none of them: take another name for it, "
                "or say --allow-removal if it replaces them all"
            )
    source.place = place
    source.save(update_fields=["place"])
    return source


def default_name(path: Path) -> str:
    """The name of a source that nobody named: that of the folder, or of the file without its suffix."""
    place = path.resolve()
    return place.name if place.is_dir() else place.stem


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
            definition = metric.business_metric
            names = (*definition.sources, *(table.dataset for table in definition.served)) if definition else ()
            if all(map(named, names)):  # a name that is unknown is told already
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
        values = {
            field: ((old or {}).get(field, ""), (new or {}).get(field, ""))
            for field in (dict.fromkeys([*new, *(old or {})]) if new is not None else ())
        }
        fields = {field: pair for field, pair in values.items() if pair[0] != pair[1]}
        if fields or sign != "~":
            yield Difference(sign=sign, kind=kind, name=name, fields=fields)


HIDDEN = frozenset({"namespace", "name", "place", "inherited_sensitive"})  # of a profile: what nobody writes there


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a sync of a source would change, what would stay without a test, and why it would be refused, if so."""

    source: str
    differences: tuple[Difference, ...]
    gaps: tuple[GapSpec, ...]
    refused: str | None
    left_out: tuple[str, ...] = ()  # sentences on what a provider tells that cannot be used


def plan(path: Path, *, name: str = "", now: datetime) -> Planned:
    """What ``sync_files`` would do; raises what it raises, and keeps nothing."""

    def write() -> tuple[str, Applied]:
        source, applied = sync_files(path, name=name, allow_removal=True, now=now)
        return source.name, applied

    return plan_of(write, now=now)


def plan_of(write: Callable[[], tuple[str, Applied]], *, most_gone: int = MOST_GONE, now: datetime) -> Planned:
    """What ``write`` would do, which gives the name of a source and what it changed; keeps nothing."""
    with transaction.atomic():
        try:
            before = _picture()
            source, applied = write()
            fault = removal_fault(applied.missing, applied.dataset_count, most_gone)
            of_tests, gaps = _tests_to_be(source, now)
            parts = (*differences(before, _picture()), *of_tests)
        finally:
            transaction.set_rollback(True)
    return Planned(source=source, differences=parts, gaps=tuple(gaps), refused=fault)


def _tests_to_be(source: str, now: datetime) -> tuple[list[Difference], list[GapSpec]]:
    """What becomes of the tests of all datasets that are to be reconciled, and what those of the source lack."""
    templates = [template_of(row) for row in RuleTemplate.objects.order_by("name")]
    rows = Gap.objects.filter(dataset__source=source, dataset__missing_since__isnull=True, closed_at__isnull=True)
    stored = rows.exclude(dataset__reconcile_at__lte=now).select_related("dataset").order_by("pk")
    gaps = [
        GapSpec(dataset=row.dataset.full_name, **{name: getattr(row, name) for name in IN_GAPS})  # as they stay
        for row in stored.only("dataset__full_name", *IN_GAPS)
    ]
    of_tests: list[Difference] = []
    ids = Dataset.objects.filter(reconcile_at__lte=now).order_by("full_name").values_list("pk", flat=True)
    for part in in_parts(ids):
        datasets = list(Dataset.objects.filter(pk__in=part).order_by("full_name"))
        around, tests, obsolete = surroundings(datasets), stored_tests(datasets), obsolete_ids(datasets)
        for row in datasets:
            generation = generate(row, around, is_obsolete=row.pk in obsolete)
            made = changes_of(row, tests[row.pk], templates, around)
            of_tests += _differences_of_tests(row, tests[row.pk], generation, made, now)
            if row.source == source and row.missing_since is None:
                gaps += [*generation.gaps, *by_template(made.gaps)]
    return of_tests, sorted(gaps, key=lambda gap: gap.dataset)


IN_GAPS = ("category", "template", "reason", "mendable")


def _picture() -> Picture:
    """The datasets, the lineage, and the users' tests that are live and have not left their source."""
    tables: dict[tuple[str, str], Fields] = {}  # as their sources write them, SLAs and partition field by field
    for dataset in Dataset.objects.filter(missing_since__isnull=True).prefetch_related("replicas"):
        values = {name: value for name, value in vars(profile_of(dataset)).items() if name not in HIDDEN}
        parts = {name: values.pop(name) for name in ("slas", "partition")}
        inside = {f"{part}.{name}": value for part, of in parts.items() if of for name, value in vars(of).items()}
        columns = {column.name: column.type for column in values.pop("columns")}
        tables["dataset", dataset.full_name] = _fields({**values, **inside, "columns": columns})
    edges = LineageEdge.objects.values_list(
        "upstream__full_name", "downstream__full_name", "one_to_one", "sampled", "keys"
    )
    live = DataTest.objects.filter(origin=Origin.USER, retired_at__isnull=True, missing_since__isnull=True)
    return {
        **tables,
        **{
            ("lineage", f"{up} → {down}"): _fields({"one_to_one": one_to_one, "sampled": sampled, "keys": keys})
            for up, down, one_to_one, sampled, keys in edges
        },
        **{
            ("test", f"{row.dataset}: {row.name}"): _fields(
                {"category": row.category, **_written(Definition.of(row.revision))}
            )
            for row in live.select_related("dataset", "revision")
            if row.revision
        },
        **{("binding", str(row)): {"gate": row.strength} for row in Binding.objects.select_related("dataset")},
    }


def _differences_of_tests(
    dataset: Dataset, tests: Sequence[DataTest], generation: Generation, made: MadeChanges, now: datetime
) -> Iterator[Difference]:
    """What becomes of a changed dataset's standard tests, once the grace of what is gone is over, and of templates'."""
    standard = changes(dataset, tests, generation, now + RETIRE_GRACE)
    before = [existing.definition for existing, _ in standard.revise if existing.definition]
    gone = [test for test in standard.retire if test.definition]  # the others are in the pictures
    after = [*standard.create, *(target for _, target in (*standard.revise, *standard.revive))]
    yield from differences(
        {**_pictures(dataset, before), **{("test", f"{dataset}: {test.name}"): {} for test in gone}},
        _pictures(dataset, after),
    )
    live = [row for row, _ in made.take if not (row.is_retired or row.is_leaving)]
    before = [row.made for row in (*live, *made.leave)]
    after = [*made.make, *(target for _, target in made.take)]
    yield from differences(_pictures(dataset, before), _pictures(dataset, after))


def _pictures(dataset: Dataset, tests: Iterable[DataTestSpec]) -> Picture:
    names = ("category", "template", "datacenter", "spoils", "scope")
    return {
        ("test", f"{dataset}: {test.name}"): _fields(
            {name: getattr(test, name) for name in names} | _written(test.definition)
        )
        for test in tests
    }


def _written(definition: Definition) -> dict[str, Any]:
    """What people write of a definition."""
    return {name: value for name, value in definition.columns.items() if name != "declared"}


def _fields(values: Mapping[str, Any]) -> Fields:
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    """A value as people write it; nothing for what is not said."""
    if isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        return format_duration(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _text(vars(value))
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(inside)}" for key, inside in value.items() if inside)
    if isinstance(value, list | tuple):
        return "; ".join(_text(inside) for inside in value)
    return "" if value is None else str(value)
