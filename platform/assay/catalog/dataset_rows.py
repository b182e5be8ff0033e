"""Write the rows of datasets: what sources tell of tables, and what becomes of a dataset by all that tell of it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from assay.config import config
from assay.database.name_keys import name_key, name_keys
from assay.database.statements import in_parts, insert_rows, update_each
from assay.models import ColumnName, Dataset, Replica, Source, Telling
from assay.time.stored_times import Holds

from .column_types import declared_since
from .limits import OWN, own_limits
from .locations import PUSHED
from .profile import LISTS, SAME, SLAS, TIERS_WHERE_EMPTY, DatasetProfile
from .tellings import (
    CORRECTION,
    Merged,
    SourcedTelling,
    TableTelling,
    fields_as_json,
    fields_from_json,
    merge,
    precedence,
    since_of,
    telling_of,
)

# What sources tell.


@dataclass(frozen=True, kw_only=True)
class WrittenTellings:
    """What a source tells otherwise than before, by the keys of names; ``gone`` are full names, by key."""

    changed: tuple[str, ...]
    gone: Mapping[str, str]
    count: int  # of what the source told of before; without ``full`` only of these tables


def write_tellings(tables: Sequence[TableTelling], *, source: str, full: bool, now: datetime) -> WrittenTellings:
    """Write what a source tells of these tables; ``full`` also forgets what it told of others."""
    tables_by_key = {name_key(table.full_name): table for table in tables}
    rows = stored_tellings(source, None if full else tables_by_key)
    created, changed = [], []
    for key, table in tables_by_key.items():
        values, row = fields_as_json(table), rows.get(key)
        if row is None:
            row = Telling(source=source, name_key=key, namespace=table.namespace, name=table.name)
            created.append(row)
        elif row.fields == values:
            continue
        else:
            changed.append(row)
        row.since = since_of(values, row.fields, row.since, now=now.isoformat())
        row.fields, row.seen_at = values, now
    insert_rows(created, ignore_conflicts=True)  # two events may name a new table
    update_each(changed, ("fields", "since", "seen_at"))
    gone = {key: row for key, row in rows.items() if key not in tables_by_key}
    for part in in_parts(row.pk for row in gone.values()):
        Telling.objects.filter(pk__in=part).delete()
    return WrittenTellings(
        changed=tuple(row.name_key for row in (*created, *changed)),
        gone={key: f"{row.namespace}.{row.name}" for key, row in gone.items()},
        count=len(rows),
    )


def stored_tellings(source: str, keys: Iterable[str] | None = None) -> dict[str, Telling]:
    """What a source tells of tables, by the keys of their names: of all, or of those of ``keys``."""
    rows = Telling.objects.filter(source=source)
    parts = [rows] if keys is None else [rows.filter(name_key__in=part) for part in in_parts(keys)]
    return {row.name_key: row for part in parts for row in part}


@dataclass(frozen=True, kw_only=True)
class Sources:
    """In which order sources count, and what providers give where no source says it."""

    providers: tuple[str, ...] = ()
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def rank(self, source: str) -> int:
        """The place of a source: the lowest counts."""
        return precedence(source, self.providers)


def sources_in_order() -> Sources:
    """The sources as the operator lists them; a provider that is no longer listed comes after those that are."""
    rows = {row.name: row for row in Source.objects.exclude(kind="").order_by("name")}
    listed = [provider.name for provider in config().provider_list]
    providers = dict.fromkeys([*listed, *rows])
    return Sources(providers=tuple(providers), defaults={name: row.defaults for name, row in rows.items()})


# What becomes of datasets.


@dataclass(frozen=True, kw_only=True)
class WrittenDatasets:
    """Full names of datasets that came, changed, or are told of no longer."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def write_datasets(keys: Collection[str], *, now: datetime) -> WrittenDatasets:
    """Write what the datasets of these names come to by all that tell of them."""
    if not keys:
        return WrittenDatasets()
    sources = sources_in_order()
    created, changed, missing = [], [], []
    for part in in_parts(keys):
        rows = {row.name_key: row for row in Dataset.objects.filter(name_key__in=part).prefetch_related("replicas")}
        tellings = _sourced(part, sources)
        writes = defaultdict[tuple[str, ...], list[Dataset]](list)  # by the fields that change
        moved: dict[str, tuple[Dataset, DatasetProfile]] = {}
        for key in part:
            row, (merged, source) = rows.get(key), _merged(tellings.get(key, []), sources)
            if merged.profile is None:
                if row is not None and row.missing_since is None:
                    row.missing_since = now
                    writes["missing_since",].append(row)
                    missing.append(row.full_name)
                continue
            values = {**_columns_of(merged.profile), "source": source, "missing_since": None}
            values["origins"] = {name: list(origin) for name, origin in merged.origins.items()}
            if row is None:
                row = _new(merged.profile, values, now)
                moved[key] = row, merged.profile
                created.append(row.full_name)
                continue
            _hold_to_limits(row, values, sources)
            if values["columns"] != row.columns:
                values["declared"] = declared_since(values["columns"], row.columns, row.declared, now=now)
            names = tuple(name for name, value in values.items() if getattr(row, name) != value)
            is_moved = _places(merged.profile) != [_place(replica) for replica in row.replicas.all()]
            for name in names:
                setattr(row, name, values[name])
            if names:
                writes[names].append(row)
            if is_moved:
                moved[key] = row, merged.profile
            if is_moved or set(names) - {"origins"}:
                changed.append(row.full_name)
        for names, changes in writes.items():
            update_each(changes, names)
        insert_rows([row for row, _ in moved.values() if row.pk is None], "name_key")
        Replica.objects.filter(dataset__in=[rows[key].pk for key in moved if key in rows]).delete()
        insert_rows([Replica(dataset=row, **place) for row, profile in moved.values() for place in _places(profile)])
    write_column_names([*created, *changed])
    return WrittenDatasets(created=tuple(created), changed=tuple(changed), missing=tuple(missing))


def _sourced(keys: Sequence[str], sources: Sources) -> dict[str, list[SourcedTelling]]:
    """What is told of each of these names, in order of precedence."""
    tellings: dict[str, list[SourcedTelling]] = defaultdict(list)
    rows = Telling.objects.filter(name_key__in=keys)
    for row in sorted(rows, key=lambda row: (sources.rank(row.source), row.source)):
        telling = fields_from_json(row.namespace, row.name, row.fields)
        tellings[row.name_key].append(SourcedTelling(source=row.source, telling=telling, since=row.since))
    return tellings


def _merged(tellings: Sequence[SourcedTelling], sources: Sources) -> tuple[Merged, str]:
    """What the tellings of one table come to, and the first source that tells of it: a correction alone does not."""
    names = [sourced.source for sourced in tellings if sourced.source != CORRECTION]
    if not names:
        return Merged(profile=None, origins={}), ""
    defaults: dict[str, Any] = {}
    for name in reversed(names):
        defaults |= sources.defaults.get(name, {})
    return merge(tellings, defaults), names[0]


def merged_by_key(keys: Iterable[str]) -> dict[str, Merged]:
    """What is told of the tables of these keys of names comes to, where anything is."""
    sources = sources_in_order()
    return {
        key: _merged(tellings, sources)[0]
        for part in in_parts(keys)
        for key, tellings in _sourced(part, sources).items()
    }


def merged_tellings(key: str) -> tuple[list[SourcedTelling], Merged]:
    """What is told of the table of this key of a name, in order of precedence, and what that comes to."""
    sources = sources_in_order()
    tellings = _sourced([key], sources).get(key, [])
    return tellings, _merged(tellings, sources)[0]


def _new(profile: DatasetProfile, values: dict[str, Any], now: datetime) -> Dataset:
    names = {"namespace": profile.namespace, "name": profile.name, "full_name": profile.full_name}
    declared = declared_since(values["columns"], now=now)
    key = name_key(profile.full_name)
    return Dataset(**names, **values, name_key=key, declared=declared, created_at=now, changed_at=now)


def _hold_to_limits(row: Dataset, values: dict[str, Any], sources: Sources) -> None:
    """Keep in ``values`` what limits who reads the dataset, where its source may not open it.

    A request, or a provider, opens nothing that a catalog file has closed: it must not unmask what it copies.
    """
    if values["source"] == PUSHED or values["source"] in sources.providers:
        own = own_limits(row)
        if own["readers"] and values["origins"].get("readers", [""])[0] != CORRECTION:
            values |= {**own, "channels": row.channels}
        columns = {column["name"].casefold(): column for column in values["columns"]}
        for column in row.columns:
            if column.get("sensitive"):
                columns.setdefault(column["name"].casefold(), column)["sensitive"] = True
        values["columns"] = list(columns.values())
    if "own" in row.place_limits:
        values["place_limits"] = {**row.place_limits, "own": {name: values[name] for name in OWN}}
        values |= {name: getattr(row, name) for name in OWN}


def _places(profile: DatasetProfile) -> list[dict[str, Any]]:
    return [
        {**{name: getattr(replica, name) for name in PLACE}, "position": at, "options": dict(replica.options)}
        for at, replica in enumerate(profile.replicas)
    ]


def _place(replica: Replica) -> dict[str, Any]:
    return {name: getattr(replica, name) for name in (*PLACE, "position", "options")}


PLACE = ("datacenter", "storage", "location")


def tell_again(dataset: Dataset, profile: DatasetProfile, *, now: datetime) -> None:
    """Write what has become of a business metric by what its sources are now."""
    stored = stored_tellings(dataset.source, [dataset.name_key])[dataset.name_key]
    before, derived = fields_from_json(dataset.namespace, dataset.name, stored.fields), telling_of(profile)
    telling = replace(before, **{name: getattr(derived, name) for name in DERIVED})
    if write_tellings([telling], source=dataset.source, full=False, now=now).changed:
        write_datasets([dataset.name_key], now=now)
        dataset.refresh_from_db()


DERIVED = ("partition", "replicas", "retention", "business_metric")  # of a business metric, from its sources


def write_column_names(full_names: Collection[str]) -> None:
    """Write which datasets of these names declare which columns, for the search; in a few statements."""
    uses = ColumnName.datasets.through
    for keys in in_parts(name_keys(full_names)):
        declared = dict(Dataset.objects.filter(name_key__in=keys).values_list("pk", "columns"))
        names = {name_key(column["name"]): column["name"] for columns in declared.values() for column in columns}
        ids = _column_ids(names)
        new = [ColumnName(name=name, name_key=key) for key, name in names.items() if key not in ids]
        insert_rows(new, ignore_conflicts=True)
        ids |= _column_ids(names.keys() - ids.keys())
        rows = uses.objects.filter(dataset__in=declared).values_list("pk", "dataset_id", "columnname_id")
        stored = {(dataset, name): pk for pk, dataset, name in rows}
        pairs = {(pk, ids[name_key(column["name"])]) for pk, columns in declared.items() for column in columns}
        for part in in_parts([stored[pair] for pair in stored.keys() - pairs]):
            uses.objects.filter(pk__in=part).delete()
        new_uses = [uses(dataset_id=dataset, columnname_id=name) for dataset, name in pairs - stored.keys()]
        insert_rows(new_uses, ignore_conflicts=True)


def _column_ids(keys: Iterable[str]) -> dict[str, int]:
    return {
        key: pk
        for part in in_parts(keys)
        for key, pk in ColumnName.objects.filter(name_key__in=part).values_list("name_key", "pk")
    }


def _columns_of(profile: DatasetProfile) -> dict[str, Any]:
    """The values of the model's own columns that a profile gives."""
    part = profile.partition
    columns = [
        {"name": column.name, "type": column.type} | ({"sensitive": True} if column.sensitive else {})
        for column in profile.columns
    ]
    return {
        **{name: getattr(profile, name) for name in SAME},
        **{name: getattr(profile, name) or "" for name in TIERS_WHERE_EMPTY},
        **{name: "\n".join(getattr(profile, name)) for name in LISTS},
        **{f"{name}_sla": getattr(profile.slas, name) for name in SLAS},
        "columns": columns,
        "primary_key": list(profile.primary_key),
        "partition_column": part.column if part else "",
        "granularity": part.granularity.value if part else "",
        "partition_holds": (part.holds if part else Holds.KEY).value,
        "stored_time_zone": part.stored_time_zone if part else "UTC",
        "time_zone": part.time_zone if part else "UTC",
        "key_format": part.key_format if part else "",
        "first_partition": (part.first or "") if part else "",
        "business_metric": profile.business_metric.to_json() if profile.business_metric else None,
    }
