"""Write what a provider tells into the catalog; whatever changed is left to be reconciled."""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from assay.config import config
from assay.database.name_keys import name_key, name_keys
from assay.database.statements import in_parts
from assay.models import ChangeKind, ColumnName, DataChange, Dataset, LineageEdge, Replica, Source
from assay.time.stored_times import Holds
from assay.time.windows import Window

from .column_types import declared_since
from .locations import PUSHED, LocationClaim, UnableToUseLocation, check, place_of, rules_of
from .place_limits import (
    MOST,
    NOBODY,
    PlacedDataset,
    closed_folders,
    is_too_wide,
    limits_of,
    way_of_reading,
)
from .profile import LISTS, SAME, SLAS, TIERS_WHERE_EMPTY, CatalogProfile, DatasetProfile, LineageProfile

# Write the limits that datasets inherit by their places, and judge again where a dataset is read.

OWN = ("readers", "owner", "team")  # what stands in ``place_limits`` as its provider declares it, where it inherits


class UnableToLimit(Exception):
    """Limits of one dataset that cannot hold for another that reads the same place."""


def inherit_limits(names: Collection[str], *, source: str) -> set[str]:
    """Write what these datasets inherit, and what others inherit from them; the names of those that changed.

    Raises UnableToLimit where limits contradict each other, and where a push would limit what others declare.
    """
    keys = set(name_keys(names))
    named = [row for row in Dataset.objects.filter(name_key__in=keys) if row.business_metric is None]
    for row in named:
        is_limited = bool(_own_limits(row)["readers"]) or bool(_own_sensitive(row))
        if row.is_limited != is_limited:
            row.is_limited = is_limited
            Dataset.objects.filter(pk=row.pk).update(is_limited=is_limited)
    limited = limited_datasets()
    is_limiting = any(row.is_limited for row in named)
    if not limited and not Dataset.objects.exclude(place_limits={}).exists():
        return set()
    rows = Dataset.objects.filter(business_metric__isnull=True).prefetch_related("replicas")
    if not is_limiting:
        rows = rows.filter(Q(name_key__in=keys) | ~Q(place_limits={}))
    changed = set()
    for row in rows:
        limits = limits_of(placed(row, row.replicas.all()), limited)
        is_judged = row.name_key in keys or (row.source != PUSHED and row.missing_since is None)
        if limits.fault and is_judged:
            raise UnableToLimit(f"{row.full_name}: {limits.fault}")
        own = _own_limits(row)
        effective = {"readers": "\n".join(limits.readers), "owner": limits.owner, "team": limits.team}
        inherited = {
            **({"own": own} if own != effective else {}),
            **({"sensitive": sorted(limits.sensitive)} if limits.sensitive else {}),
        }
        values = {**effective, "place_limits": inherited}
        if all(getattr(row, name) == value for name, value in values.items()):
            continue
        Dataset.objects.filter(pk=row.pk).update(**values)
        if source == PUSHED and row.name_key not in keys and is_limiting:
            raise UnableToLimit(
                f"{row.full_name} reads the same place, and a push may not limit it: "
                "declare the limits in a catalog file"
            )
        changed.add(row.full_name)
    return changed


def limited_datasets() -> list[PlacedDataset]:
    """The datasets that have limits of their own."""
    rows = Replica.objects.filter(dataset__is_limited=True).select_related("dataset")
    by_dataset: dict[int, list[Replica]] = {}
    for replica in rows:
        by_dataset.setdefault(replica.dataset_id, []).append(replica)
    return [placed(replicas[0].dataset, replicas) for replicas in by_dataset.values()]


def placed(dataset: Dataset, replicas: Iterable[Replica]) -> PlacedDataset:
    """A dataset as its provider declares it, with the places that these replicas read."""
    own = _own_limits(dataset)
    columns = [column["name"] for column in dataset.columns]
    return PlacedDataset(
        name=dataset.full_name,
        owner=own["owner"],
        team=own["team"],
        readers=tuple(own["readers"].splitlines()),
        sensitive=_own_sensitive(dataset),
        places=[
            (
                place_of(replica.storage, replica.location, replica.options, os.environ),
                way_of_reading(replica.storage, replica.options, columns),
            )
            for replica in replicas
        ],
        is_pushed=dataset.source == PUSHED,
        is_gone=dataset.missing_since is not None,
    )


def closed_to(dataset: Dataset, replica: Replica, limited: Sequence[PlacedDataset]) -> tuple[str, ...]:
    """The local folders that links among the files of a replica may not lead into.

    Raises UnableToUseLocation where the place itself has limits by now that the dataset does not have, as where a
    folder has become a link.
    """
    if not limited:
        return ()
    own = placed(dataset, [replica])
    limits = limits_of(own, limited)
    hidden = own.sensitive | set(dataset.place_limits.get("sensitive", ()))
    readers = set(dataset.readers.splitlines())
    is_closed = not limits.readers or (bool(readers) and readers <= {*limits.readers, *NOBODY})
    is_held = is_closed and limits.sensitive <= hidden
    if limits.fault or not is_held:
        names = ", ".join(limits.sources)
        raise UnableToUseLocation(
            limits.fault or f"it leads to the place of {names}, and has not its limits: push it again"
        )
    return closed_folders(own, limits, limited)


def _own_limits(dataset: Dataset) -> dict[str, Any]:
    return {**{name: getattr(dataset, name) for name in OWN}, **dataset.place_limits.get("own", {})}


def _own_sensitive(dataset: Dataset) -> frozenset[str]:
    return frozenset(column["name"].casefold() for column in dataset.columns if column.get("sensitive"))


UNOWNED = ("openlineage", "push")  # whose edges a catalog may take over
SHOWN = 20  # names in a sentence
MOST_GONE = 5  # datasets that may leave a source at once, whatever their share
MOST_SHARE_GONE = 0.1  # of a source's datasets


class UnableToApply(Exception):
    """The catalog that was told cannot be written as it is."""


class UnableToComplete(Exception):
    """A completion that names too much at once."""


class UnableToShare(UnableToApply):
    """Another source tells of a dataset already."""


class UnableToRemove(UnableToApply):
    """More would leave the source at once than is likely meant."""


def removal_fault(gone: Sequence[str], total: int) -> str | None:
    """Why so many datasets must not leave a source of ``total`` at once unasked; None if they may."""
    if len(gone) <= MOST_GONE or len(gone) <= MOST_SHARE_GONE * total:
        return None
    named = ", ".join(gone[:SHOWN]) + (f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else "")
    return f"{len(gone)} of its {total} datasets would leave the source at once: {named}"


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What an application of a catalog changed: datasets by their full names, and what is written beside them."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]  # known from the same source before, and no longer told
    dataset_count: int  # datasets of the source before
    templates: tuple[str, ...] = ()  # that came, changed or went, by name
    bindings: tuple[str, ...] = ()  # the same, as texts


@transaction.atomic
def apply_catalog(
    profile: CatalogProfile, *, source: str, full: bool, allow_removal: bool = False, now: datetime
) -> Applied:
    """Write the datasets and the lineage of ``profile``; a full sync also notes what is gone from ``source``.

    A dataset whose profile, replicas or upstreams changed is marked to be reconciled, and nothing else is. Raises
    UnableToShare for what another source tells of, and UnableToRemove where too much is gone.
    """
    check_locations(profile, source=source)
    _refuse_others(profile, source)
    names = [dataset.full_name for dataset in profile.datasets]
    dataset_count = Dataset.objects.filter(source=source, missing_since__isnull=True).count()
    results = {dataset.full_name: _apply_dataset(dataset, source, now) for dataset in profile.datasets}
    created = [name for name, (is_new, _) in results.items() if is_new]
    changed = [name for name, (is_new, is_changed) in results.items() if is_changed and not is_new]
    write_column_names([*created, *changed])
    touched = _apply_lineage(profile.lineage, source=source, full=full)
    missing: tuple[str, ...] = ()
    if full:
        gone = Dataset.objects.filter(source=source, missing_since__isnull=True).exclude(name_key__in=name_keys(names))
        missing = tuple(gone.order_by("full_name").values_list("full_name", flat=True))
        Dataset.objects.filter(name_key__in=name_keys(missing)).update(missing_since=now)
    if not allow_removal and (fault := removal_fault(missing, dataset_count)):
        raise UnableToRemove(f"{source!r}: {fault}; if that is meant, say --allow-removal")
    try:
        limited = inherit_limits(names, source=source)
    except UnableToLimit as unable:
        raise UnableToApply(str(unable)) from None
    edges = LineageEdge.objects.filter(upstream__name_key__in=name_keys([*created, *changed]))
    compared = edges.values_list("downstream__full_name", flat=True)  # their tests compare them with what changed
    mark_changed({*created, *changed, *touched, *missing, *limited, *compared}, now)
    return Applied(created=tuple(created), changed=tuple(changed), missing=missing, dataset_count=dataset_count)


def _refuse_others(profile: CatalogProfile, source: str) -> None:
    """Raise UnableToShare for datasets that another source tells of; what is gone from it is free.

    A name stays that of a table, or of a business metric: what was found of the one says nothing of the other.
    """
    by_key = {name_key(dataset.full_name): dataset for dataset in profile.datasets}
    rows = list(Dataset.objects.filter(name_key__in=by_key).order_by("full_name"))
    swaps = [
        f"{_at(by_key[row.name_key].place)}{row.full_name} is known as "
        f"{'a table' if row.business_metric is None else 'a business metric'}, and names are shared"
        for row in rows
        if (row.business_metric is None) != (by_key[row.name_key].business_metric is None)
    ]
    if swaps:
        raise UnableToShare("\n".join([*swaps, "give one of the two another name"]))
    places = {row.name: str(row) for row in Source.objects.all()}
    clashes = [
        f"{_at(by_key[row.name_key].place)}{row.full_name} belongs to the source "
        f"{places.get(row.source, repr(row.source))}, and {source!r} tells of it too"
        for row in rows
        if row.missing_since is None and row.source != source
    ]
    if clashes:
        mend = "keep each in one of the two; what leaves a source, or whose source is removed, is free for another"
        raise UnableToShare("\n".join([*clashes, mend]))


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def check_locations(profile: CatalogProfile, *, source: str) -> None:
    """Raise UnableToApply with every location that may not be read."""
    rules, wrong = rules_of(config()), []
    for dataset in profile.datasets:
        for replica in dataset.replicas if dataset.business_metric is None else ():
            values = {name: getattr(replica, name) for name in ("storage", "location", "options")}
            try:
                check(LocationClaim(**values, is_trusted=source != PUSHED), rules)
            except UnableToUseLocation as error:
                wrong.append(f"{_at(dataset.place)}{dataset.full_name} in {replica.datacenter}: {error}")
    if wrong:
        raise UnableToApply("\n".join(wrong))


def _apply_dataset(profile: DatasetProfile, source: str, now: datetime) -> tuple[bool, bool]:
    """Write a dataset; whether it is new, and whether it changed."""
    values = {**_columns_of(profile), "source": source, "missing_since": None}
    names = {"namespace": profile.namespace, "name": profile.name}
    declared = declared_since(values["columns"], now=now)
    defaults = {**values, **names, "declared": declared, "created_at": now, "changed_at": now}
    dataset, is_new = Dataset.objects.get_or_create(name_key=name_key(profile.full_name), defaults=defaults)
    if source == PUSHED:  # a request opens nothing that a catalog file has closed: it must not unmask what it copies
        own = _own_limits(dataset)
        values |= own if own["readers"] else {}
        columns = {column["name"].casefold(): column for column in values["columns"]}
        for column in dataset.columns:
            if column.get("sensitive"):
                columns.setdefault(column["name"].casefold(), column)["sensitive"] = True
        values["columns"] = list(columns.values())
    if "own" in dataset.place_limits:
        values["place_limits"] = {**dataset.place_limits, "own": {name: values[name] for name in OWN}}
        values |= {name: getattr(dataset, name) for name in OWN}
    values["declared"] = declared_since(values["columns"], dataset.columns, dataset.declared, now=now)
    changed = {name: value for name, value in values.items() if getattr(dataset, name) != value}
    if changed:
        for name, value in changed.items():
            setattr(dataset, name, value)
        dataset.save(update_fields=[*changed])
    fields = ("position", "storage", "location", "options")
    replicas = {
        replica.datacenter: dict(
            zip(fields, (at, replica.storage, replica.location, dict(replica.options)), strict=True)
        )
        for at, replica in enumerate(profile.replicas)
    }
    rows = dataset.replicas.all()
    is_moved = replicas != {row.datacenter: {name: getattr(row, name) for name in fields} for row in rows}
    if is_moved:
        dataset.replicas.exclude(datacenter__in=replicas).delete()
        for datacenter, values in replicas.items():
            Replica.objects.update_or_create(dataset=dataset, datacenter=datacenter, defaults=values)
    return is_new, is_moved or bool(changed)


def tell_again(dataset: Dataset, profile: DatasetProfile, *, now: datetime) -> None:
    """Write what has become of a dataset by what others tell, such as the sources of a business metric."""
    if any(_apply_dataset(profile, dataset.source, now)):
        write_column_names([dataset.full_name])
        dataset.refresh_from_db()


def write_column_names(full_names: Collection[str]) -> None:
    """Write which datasets of these names declare which columns, for the search; in a few statements."""
    uses = ColumnName.datasets.through
    for keys in in_parts(name_keys(full_names)):
        declared = dict(Dataset.objects.filter(name_key__in=keys).values_list("pk", "columns"))
        names = {name_key(column["name"]): column["name"] for columns in declared.values() for column in columns}
        ids = _column_ids(names)
        ColumnName.objects.bulk_create(
            [ColumnName(name=name, name_key=key) for key, name in names.items() if key not in ids],
            ignore_conflicts=True,
        )
        ids |= _column_ids(names.keys() - ids.keys())
        rows = uses.objects.filter(dataset__in=declared).values_list("pk", "dataset_id", "columnname_id")
        stored = {(dataset, name): pk for pk, dataset, name in rows}
        pairs = {(pk, ids[name_key(column["name"])]) for pk, columns in declared.items() for column in columns}
        for part in in_parts([stored[pair] for pair in stored.keys() - pairs]):
            uses.objects.filter(pk__in=part).delete()
        uses.objects.bulk_create(
            [uses(dataset_id=dataset, columnname_id=name) for dataset, name in pairs - stored.keys()],
            ignore_conflicts=True,
        )


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


def _apply_lineage(edges: tuple[LineageProfile, ...], *, source: str, full: bool) -> set[str]:
    """Write the edges; the names of the downstreams whose upstreams changed."""
    rows_of_names = Dataset.objects.values_list("name_key", "id", "full_name")
    ids, names = {key: id_ for key, id_, _ in rows_of_names}, {id_: name for _, id_, name in rows_of_names}
    if unknown := sorted(
        {end for edge in edges for end in (edge.upstream, edge.downstream) if name_key(end) not in ids}
    ):
        raise UnableToApply(f"lineage names datasets that the catalog lacks: {', '.join(unknown)}; tell of them first")
    values = {
        (ids[name_key(edge.upstream)], ids[name_key(edge.downstream)]): {
            "one_to_one": edge.one_to_one, "sampled": edge.sampled, "keys": dict(edge.keys),
        }
        for edge in edges
    }  # fmt: skip
    rows = {(row.upstream_id, row.downstream_id): row for row in LineageEdge.objects.all()}
    touched = {
        pair
        for pair, flags in values.items()
        if pair not in rows or any(getattr(rows[pair], name) != value for name, value in flags.items())
    }
    free = [rows[pair].pk for pair in values.keys() & rows.keys() - touched if rows[pair].source in UNOWNED]
    if free and source not in UNOWNED:  # whoever keeps an edge in a file may end it there
        LineageEdge.objects.filter(pk__in=free).update(source=source, missed_since=None)
    if others := [pair for pair in touched if pair in rows and rows[pair].source not in (source, *UNOWNED)]:
        clashes = "; ".join(f"{names[a]} to {names[b]} by {rows[a, b].source!r}" for a, b in sorted(others))
        raise UnableToApply(f"other sources tell otherwise of lineage: {clashes}; keep each edge in one source")
    for upstream, downstream in touched:
        defaults = {**values[upstream, downstream], "source": source, "missed_since": None}
        LineageEdge.objects.update_or_create(upstream_id=upstream, downstream_id=downstream, defaults=defaults)
    gone = {pair for pair, row in rows.items() if full and row.source == source and pair not in values}
    LineageEdge.objects.filter(pk__in=[rows[pair].pk for pair in gone]).delete()
    return {names[downstream] for _, downstream in touched | gone}


def mark_changed(names: set[str], now: datetime) -> None:
    """Leave the tests of these datasets to be reconciled."""
    Dataset.objects.filter(name_key__in=name_keys(names)).update(changed_at=now, reconcile_at=now)


def record_completion(
    *,
    dataset: Dataset,
    datacenter: str,
    window: Window,
    pipeline: str,
    now: datetime,
    run: str = "",
    rows: int | None = None,
    mode: str = "",
) -> DataChange:
    """Write down that a pipeline says it has completed ``window``; its live tests are triggered by that row.

    ``rows`` are those that its run has written, and ``mode`` says whether these replaced what was there.
    Raises UnableToComplete for a window of more partitions than one change may name, and for a business metric.
    """
    if dataset.business_metric is not None:
        sources = ", ".join(dataset.business_metric["sources"])
        raise UnableToComplete(f"{dataset} is a business metric, which follows its sources: complete {sources}.")
    if is_too_wide(window, dataset.partitioning):
        raise UnableToComplete(
            f"{window.text} has more than {MOST} partitions of {dataset.full_name}: complete it in parts."
        )
    return DataChange.objects.create(
        **{"dataset": dataset, "datacenter": datacenter, "pipeline": pipeline, "run": run, "rows": rows, "mode": mode},
        kind=ChangeKind.COMPLETED,
        window_start=window.start,
        window_end=window.end,
        at=now,
    )
