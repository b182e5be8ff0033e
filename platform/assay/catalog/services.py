"""Write what a provider tells into the catalog; whatever changed is left to be reconciled."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from assay.catalog.profile import CatalogProfile, DatasetProfile, LineageProfile
from assay.models import ChangeKind, DataChange, Dataset, LineageEdge, Replica
from assay.windows import Window


class UnableToApply(Exception):
    """The catalog that was told cannot be written as it is."""


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What an application of a catalog changed, by the datasets' full names."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]  # known from the same source before, and no longer told


@transaction.atomic
def apply_catalog(profile: CatalogProfile, *, source: str, full: bool, now: datetime) -> Applied:
    """Write the datasets and the lineage of ``profile``; a full sync also notes what is gone from ``source``.

    A dataset whose profile, replicas or upstreams changed is marked to be reconciled, and nothing else is.
    """
    created, changed = [], []
    for told in profile.datasets:
        is_new, is_changed = _apply_dataset(told, source=source, now=now)
        created += [told.full_name] if is_new else []
        changed += [told.full_name] if is_changed and not is_new else []
    touched = _apply_lineage(profile.lineage, source=source, full=full)
    missing = _note_missing(profile, source=source, now=now) if full else ()
    mark_changed({*created, *changed, *touched, *missing} | _downstreams_of({*created, *changed}), now)
    return Applied(created=tuple(created), changed=tuple(changed), missing=missing)


def _apply_dataset(told: DatasetProfile, *, source: str, now: datetime) -> tuple[bool, bool]:
    wanted = {**_columns_of(told), "source": source, "missing_since": None}
    defaults = {**wanted, "created_at": now, "changed_at": now}
    dataset, is_new = Dataset.objects.get_or_create(namespace=told.namespace, name=told.name, defaults=defaults)
    changed = {name: value for name, value in wanted.items() if getattr(dataset, name) != value}
    if changed:
        for name, value in changed.items():
            setattr(dataset, name, value)
        dataset.save(update_fields=[*changed])
    return is_new, _apply_replicas(dataset, told) or bool(changed)


def _columns_of(told: DatasetProfile) -> dict[str, Any]:
    """The values of the model's own columns that a profile gives."""
    part = told.partition
    return {
        "description": told.description,
        "owner": told.owner,
        "team": told.team,
        "tier": told.tier,
        "columns": [asdict(column) for column in told.columns],
        "primary_key": list(told.primary_key),
        "partition_column": part.column if part else "",
        "granularity": part.granularity.value if part else "",
        "time_zone": part.time_zone if part else "UTC",
        "key_format": part.key_format if part else "",
        "first_partition": (part.first or "") if part else "",
        "freshness_sla": told.slas.freshness,
        "completeness_sla": told.slas.completeness,
        "duplicates_sla": told.slas.duplicates,
        "consistency_sla": told.slas.consistency,
        "sustain": told.sustain,
        "grace": told.grace,
        "severity": told.severity or "",
        "catch_up": told.catch_up or "",
        "allow_empty": told.allow_empty,
        "retention": told.retention,
        "gate_on": told.gate_on,
        "unknown_policy": told.unknown_policy or "",
    }


def _apply_replicas(dataset: Dataset, told: DatasetProfile) -> bool:
    wanted = {
        replica.datacenter: (position, replica.storage, replica.location, dict(replica.options))
        for position, replica in enumerate(told.replicas)
    }
    existing = {r.datacenter: (r.position, r.storage, r.location, r.options) for r in dataset.replicas.all()}
    if wanted == existing:
        return False
    dataset.replicas.exclude(datacenter__in=wanted).delete()
    for datacenter, (position, storage, location, options) in wanted.items():
        Replica.objects.update_or_create(
            dataset=dataset,
            datacenter=datacenter,
            defaults={"position": position, "storage": storage, "location": location, "options": options},
        )
    return True


def _apply_lineage(told: tuple[LineageProfile, ...], *, source: str, full: bool) -> set[str]:
    """Write the edges; the names of the downstreams whose upstreams changed."""
    ids = dict(Dataset.objects.values_list("full_name", "id"))
    names = {id_: name for name, id_ in ids.items()}
    if unknown := sorted({name for edge in told for name in (edge.upstream, edge.downstream) if name not in ids}):
        raise UnableToApply(f"lineage names datasets that the catalog lacks: {', '.join(unknown)}; tell of them first")
    wanted = {(ids[edge.upstream], ids[edge.downstream]): (edge.one_to_one, edge.sampled) for edge in told}
    rows = {(edge.upstream_id, edge.downstream_id): edge for edge in LineageEdge.objects.all()}
    touched = {pair for pair, flags in wanted.items() if pair not in rows or _flags(rows[pair]) != flags}
    for upstream, downstream in touched:
        one_to_one, sampled = wanted[upstream, downstream]
        LineageEdge.objects.update_or_create(
            upstream_id=upstream,
            downstream_id=downstream,
            defaults={"one_to_one": one_to_one, "sampled": sampled, "source": source},
        )
    gone = {pair for pair, edge in rows.items() if full and edge.source == source and pair not in wanted}
    LineageEdge.objects.filter(pk__in=[rows[pair].pk for pair in gone]).delete()
    return {names[downstream] for _, downstream in touched | gone}


def _flags(edge: LineageEdge) -> tuple[bool, bool]:
    return edge.one_to_one, edge.sampled


def _note_missing(profile: CatalogProfile, *, source: str, now: datetime) -> tuple[str, ...]:
    told = {dataset.full_name for dataset in profile.datasets}
    gone = Dataset.objects.filter(source=source, missing_since__isnull=True).exclude(full_name__in=told)
    names = tuple(gone.order_by("full_name").values_list("full_name", flat=True))
    Dataset.objects.filter(full_name__in=names).update(missing_since=now)
    return names


def _downstreams_of(names: set[str]) -> set[str]:
    """Those whose tests compare them with one of ``names``, by full name."""
    edges = LineageEdge.objects.filter(upstream__full_name__in=names)
    return set(edges.values_list("downstream__full_name", flat=True))


def mark_changed(names: set[str], now: datetime) -> None:
    """Leave the tests of these datasets to be reconciled."""
    Dataset.objects.filter(full_name__in=names).update(changed_at=now, reconcile_at=now)


def record_completion(*, dataset: Dataset, datacenter: str, window: Window, pipeline: str, now: datetime) -> DataChange:
    """Write down that a pipeline says it has completed ``window``; its live tests are triggered by that row."""
    return DataChange.objects.create(
        dataset=dataset,
        datacenter=datacenter,
        kind=ChangeKind.COMPLETED,
        window_start=window.start,
        window_end=window.end,
        pipeline=pipeline,
        at=now,
    )
