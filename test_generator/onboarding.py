"""Onboarding: tables that sources name, and all that they are made of or that is made of them, become datasets.

A plan is what would happen, done and taken back: what it shows is what comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Literal

from django.db import transaction

from assay.catalog.corrections import UnableToCorrect, correct
from assay.catalog.dataset_rows import merged_by_key, write_tellings
from assay.catalog.locations import PUSHED
from assay.catalog.proposals import hops_from, is_glob, names_of, tables_like
from assay.catalog.providers.entries import DATACENTER
from assay.catalog.providers.places import TableSteps, replica_of
from assay.catalog.selectors import by_names, surroundings
from assay.catalog.tellings import DEFAULT, REQUIRED, Merged, TableTelling, UnableToReadSource
from assay.models import Telling
from test_generator.generation.generate import generate, stored_tests
from test_generator.templates.rules import by_template
from test_generator.templates.services import changes_of, template_of

from .models import RuleTemplate

MOST = 1000  # tables at once
MOST_OF_A_REQUEST = 100
DEEPEST = 100  # steps of lineage
SIDES = {"": (), "up": ("up",), "down": ("down",), "both": ("up", "down")}
PLACE = ("location", "storage", "datacenter")  # of the fields: where each table lies, as in a provider's entry
NOTHING = Merged(profile=None, origins={}, lacking=REQUIRED)


class UnableToOnboard(Exception):
    """What is asked for names no table, or too many; one sentence says how to mend it."""


@dataclass(frozen=True, kw_only=True)
class Onboarding:
    """Which tables become datasets: by names and globs, with what lies around them, ``depth`` steps far.

    ``fields`` are those of a dataset in a catalog file, which fill in what no source says. In place of ``replicas`` may
    stand ``location``, with ``{schema}`` and ``{table}``, ``storage`` and ``datacenter``.
    """

    names: Sequence[str]
    side: Literal["", "up", "down", "both"] = ""
    depth: int = DEEPEST
    most: int = MOST
    fields: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class OnboardedTable:
    """What becomes of one table: a new dataset with its tests, or why it is none; ``hops`` are negative upstream."""

    name: str
    hops: int
    state: Literal["new", "known", "lacking"]
    lacking: tuple[str, ...] = ()  # fields that a dataset needs
    fault: str = ""  # what is wrong with the fields, for this table
    tests: tuple[str, ...] = ()  # names
    gaps: tuple[str, ...] = ()  # sentences: tests that more metadata would allow


def plan_onboarding(onboarding: Onboarding, *, now: datetime) -> list[OnboardedTable]:
    """What ``onboard`` would do; raises what it raises, and keeps nothing."""
    with transaction.atomic():
        try:
            return onboard(onboarding, now=now)
        finally:
            transaction.set_rollback(True)


@transaction.atomic
def onboard(onboarding: Onboarding, *, now: datetime) -> list[OnboardedTable]:
    """Make a dataset of each of these tables of which all is known that it needs; raises UnableToOnboard.

    The nearest come first. What is a dataset already stays as it is.
    """
    hops = hops_from([*_starts(onboarding)], SIDES[onboarding.side], onboarding.depth)
    if len(hops) > onboarding.most:
        most = f"at most {onboarding.most} at once"
        raise UnableToOnboard(f"these are {len(hops)} tables: onboard {most}, or take fewer steps of lineage")
    names, merged = names_of(hops), merged_by_key(hops)
    tables = [
        _onboard_table(names[key], step, merged.get(key, NOTHING), onboarding.fields, now=now)
        for key, step in sorted(hops.items(), key=lambda pair: (abs(pair[1]), pair[1], names[pair[0]]))
    ]
    return _with_tests(tables)


def _starts(onboarding: Onboarding) -> set[str]:
    """The keys of the tables that are named; raises UnableToOnboard."""
    tables = tables_like(onboarding.names)
    if unknown := [pattern for pattern, keys in tables.items() if not keys]:
        names = [".".join(parts) for parts in Telling.objects.values_list("namespace", "name").distinct()]
        near = [] if is_glob(unknown[0]) else get_close_matches(unknown[0], names, n=1)
        mend = f"did you mean {near[0]}?" if near else "`assay onboard` without a name lists proposals"
        raise UnableToOnboard(f"no source names a table {unknown[0]}: {mend}")
    return set().union(*tables.values())


def _onboard_table(name: str, hops: int, merged: Merged, fields: Mapping[str, Any], *, now: datetime) -> OnboardedTable:
    if merged.profile is not None:
        return OnboardedTable(name=name, hops=hops, state="known")
    table = OnboardedTable(name=name, hops=hops, state="lacking")
    try:
        patch = filling(name, merged, fields)
    except UnableToReadSource as unable:
        return replace(table, fault=str(unable))
    if lacking := tuple(field for field in merged.lacking if field not in patch):
        return replace(table, lacking=lacking)
    if merged is NOTHING:  # only edges name it
        namespace, _, short = name.rpartition(".")
        write_tellings([TableTelling(namespace=namespace, name=short)], source=PUSHED, full=False, now=now)
    try:
        with transaction.atomic():
            correct(name, patch, now=now)
    except UnableToCorrect as unable:
        return replace(table, fault=f"{unable.field}: {unable}" if unable.field else str(unable))
    return replace(table, state="new")


def filling(name: str, merged: Merged, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that no source says of a table, as ``correct`` takes them; raises UnableToReadSource for a location.

    What a provider's defaults say counts as not said.
    """
    said = {field for field, (source, _) in merged.origins.items() if source != DEFAULT}
    patch = {key: value for key, value in fields.items() if key not in said and key not in PLACE}
    if isinstance(slas := patch.get("slas"), Mapping):
        patch["slas"] = {key: value for key, value in slas.items() if key not in said}
    if "replicas" not in said and (replica := _replica(name, fields)):
        patch["replicas"] = [replica]
    return patch


def _replica(name: str, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    schema, _, table = name.rpartition(".")
    database, _, schema = schema.rpartition(".")
    entry = {key: fields[key] for key in ("location", "storage") if fields.get(key)}
    entry["defaults"] = {"datacenter": fields.get("datacenter") or DATACENTER}
    replica = replica_of(entry, TableSteps(database=database, schema=schema, table=table))
    return None if replica is None else asdict(replica)


def _with_tests(tables: Sequence[OnboardedTable]) -> list[OnboardedTable]:
    """The same with the tests that new datasets get, and a sentence on each that more metadata would allow."""
    rows = by_names([table.name for table in tables if table.state == "new"])
    around, standing = surroundings([*rows.values()]), stored_tests([*rows.values()])
    templates = [template_of(row) for row in RuleTemplate.objects.order_by("name")]
    results = []
    for table in tables:
        if (row := rows.get(table.name)) is not None:
            generation = generate(row, around, is_obsolete=False)
            made = changes_of(row, standing[row.pk], templates, around)
            gaps = (*generation.gaps, *by_template(made.gaps))
            table = replace(
                table,
                tests=tuple(test.name for test in (*generation.tests, *made.make)),
                gaps=tuple(f"{gap.template or gap.category}: {gap.reason}" for gap in gaps if gap.mendable),
            )
        results.append(table)
    return results


def parse_lineage(text: str) -> tuple[Literal["", "up", "down", "both"], int]:
    """The side and the depth of ``up,2``, ``both``, or ``3``; raises UnableToOnboard."""
    side, _, depth = text.partition(",")
    if not depth and side.isdecimal():
        side, depth = "both", side
    if side not in SIDES or not side or not (depth.isdecimal() or not depth) or depth == "0":
        raise UnableToOnboard(f"{text!r} is no lineage: write up, down or both, and how many steps, as in up,2")
    return side, min(int(depth or DEEPEST), DEEPEST)  # type: ignore[return-value]
