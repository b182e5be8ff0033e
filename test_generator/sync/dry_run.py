"""What a sync would do: done in a transaction that is rolled back, between two pictures of the catalog."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from django.db import transaction

from assay.catalog.selectors import profile_of
from assay.catalog.services import removal_fault
from assay.models import Binding, Dataset, DataTest, LineageEdge, Origin
from assay.time.durations import format_duration
from test_generator.definition import Definition
from test_generator.generation.generate import RETIRE_GRACE, changes, gap_of, generate
from test_generator.generation.wanted import WantedGap, WantedTest
from test_generator.templates.changes import MadeChanges
from test_generator.templates.made import MadeTest, by_template
from test_generator.templates.reconcile import changes_of

from .catalog_files import sync_files

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
