"""Write what a provider tells into the catalog; whatever changed is left to be reconciled."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from assay.config import config
from assay.database.name_keys import name_key, name_keys
from assay.database.statements import in_parts, rows_in
from assay.edge.control_characters import name_fault
from assay.models import ChangeKind, DataChange, Dataset, LineageEdge, Source
from assay.time.windows import Window

from .dataset_rows import sources_in_order, write_datasets, write_tellings
from .edge_rows import UnableToDraw, write_edges
from .limits import UnableToLimit, inherit_limits
from .locations import PUSHED, LocationClaim, UnableToUseLocation, check, rules_of
from .place_limits import MOST, is_too_wide
from .profile import CatalogProfile
from .tellings import CORRECTION, SourceTelling, TableTelling, telling_of

SHOWN = 20  # names in a sentence
MOST_GONE = 5  # datasets that may leave a source at once, whatever their share
MOST_GONE_OF_PROVIDER = 1  # the same, of a provider: half an answer must not pass for one
MOST_SHARE_GONE = 0.1  # of a source's datasets


class UnableToApply(Exception):
    """The catalog that was told cannot be written as it is."""


class UnableToComplete(Exception):
    """A completion that names too much at once."""


class UnableToShare(UnableToApply):
    """Another source tells of a dataset already."""


class UnableToRemove(UnableToApply):
    """More would leave the source at once than is likely meant."""


def removal_fault(gone: Sequence[str], total: int, most: int = MOST_GONE) -> str | None:
    """Why so many datasets must not leave a source of ``total`` at once unasked; None if they may, as ``most`` may."""
    if len(gone) <= most or len(gone) <= MOST_SHARE_GONE * total:
        return None
    named = ", ".join(gone[:SHOWN]) + (f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else "")
    return f"{len(gone)} of its {total} datasets would leave the source at once: {named}"


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What an application of a catalog changed: datasets by their full names, and what is written beside them."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]  # known from the same source before, and no longer told
    dataset_count: int  # of which the source told before
    templates: tuple[str, ...] = ()  # that came, changed or went, by name
    bindings: tuple[str, ...] = ()  # the same, as texts


@transaction.atomic
def apply_catalog(
    profile: CatalogProfile, *, source: str, full: bool, allow_removal: bool = False, now: datetime
) -> Applied:
    """Write the datasets and the lineage of ``profile``; a full sync also notes what is gone from ``source``.

    A dataset whose profile, replicas or upstreams changed is marked to be reconciled, and nothing else is. Raises
    UnableToShare for what another catalog file or a push tells of, and UnableToRemove where too much is gone.
    """
    _refuse_others(profile, source)
    telling = SourceTelling(tables=tuple(map(telling_of, profile.datasets)), lineage=profile.lineage)
    return apply_telling(telling, source=source, full=full, allow_removal=allow_removal, now=now)


@transaction.atomic
def apply_telling(
    telling: SourceTelling,
    *,
    source: str,
    full: bool,
    allow_removal: bool = False,
    most_gone: int = MOST_GONE,
    now: datetime,
) -> Applied:
    """Write what a source tells of tables and lineage, and what becomes of their datasets; as ``apply_catalog``."""
    check_locations(telling.tables, source=source)
    written = write_tellings(telling.tables, source=source, full=full, now=now)
    gone = tuple(sorted(written.gone.values()))
    if not allow_removal and (fault := removal_fault(gone, written.count, most_gone)):
        raise UnableToRemove(f"{source!r}: {fault}; if that is meant, say --allow-removal")
    keys = [name_key(table.full_name) for table in telling.tables]
    rows = [Dataset.objects.all()] if full else [Dataset.objects.filter(name_key__in=part) for part in in_parts(keys)]
    present = {key: since for part in rows for key, since in part.values_list("name_key", "missing_since")}
    absent = [key for key in keys if key not in present or present[key] is not None]  # such as one that a job dropped
    datasets = write_datasets(dict.fromkeys([*written.changed, *written.gone, *absent]), now=now)
    try:
        touched = write_edges(
            telling.lineage,
            source=source,
            full=full,
            ends=allow_removal,
            created=name_keys(datasets.created),
            now=now,
        )
    except UnableToDraw as unable:
        raise UnableToApply(str(unable)) from None
    news = {*datasets.created, *datasets.changed}
    limited: set[str] = set()
    if news or datasets.missing:
        try:
            limited = inherit_limits(news, source=source)
        except UnableToLimit as unable:
            raise UnableToApply(str(unable)) from None
    mark_changed({*news, *datasets.missing, *touched, *limited, *_downstreams(news)}, now)
    return Applied(created=datasets.created, changed=datasets.changed, missing=gone, dataset_count=written.count)


def _downstreams(names: Collection[str]) -> set[str]:
    """The datasets whose tests compare them with one of these."""
    return {
        name
        for part in in_parts(name_keys(names))
        for name in LineageEdge.objects.filter(upstream__name_key__in=part).values_list(
            "downstream__full_name", flat=True
        )
    }


def _refuse_others(profile: CatalogProfile, source: str) -> None:
    """Raise UnableToShare for datasets that another catalog file, or a push, tells of; what is gone from it is free.

    A name stays that of a table, or of a business metric: what was found of the one says nothing of the other.
    """
    by_key = {name_key(dataset.full_name): dataset for dataset in profile.datasets}
    rows = sorted(rows_in(Dataset.objects.only(*SHARED), "name_key", by_key.keys()), key=lambda row: row.full_name)
    swaps = [
        f"{_at(by_key[row.name_key].place)}{row.full_name} is known as "
        f"{'a table' if row.business_metric is None else 'a business metric'}, and names are shared"
        for row in rows
        if (row.business_metric is None) != (by_key[row.name_key].business_metric is None)
    ]
    if swaps:
        raise UnableToShare("\n".join([*swaps, "give one of the two another name"]))
    places, sources = {row.name: str(row) for row in Source.objects.all()}, sources_in_order()
    clashes = [
        f"{_at(by_key[row.name_key].place)}{row.full_name} belongs to the source "
        f"{places.get(row.source, repr(row.source))}, and {source!r} tells of it too"
        for row in rows
        if row.missing_since is None and row.source != source and sources.rank(row.source) == sources.rank(source)
    ]
    if clashes:
        mend = "keep each in one of the two; what leaves a source, or whose source is removed, is free for another"
        raise UnableToShare("\n".join([*clashes, mend]))


SHARED = ("full_name", "name_key", "business_metric", "missing_since", "source")


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def fault_of_table(table: TableTelling, *, source: str) -> str | None:
    """Why what a provider tells of a table cannot be written, if so."""
    columns = [column.name for column in table.columns or ()]
    replicas = table.replicas or ()
    texts = [("namespace", table.namespace, 120), ("name", table.name, 120), ("owner", table.owner or "", 200)]
    texts += [("column", name, 128) for name in columns]
    texts += [("location", replica.location, 500) for replica in replicas]
    for what, text, longest in texts:
        if len(text) > longest:
            return f"its {what} {text:.40}… has more than {longest} characters"
        if fault := name_fault(text):
            return f"{what} {text!r:.60}: {fault}"
    if not table.namespace or not table.name:
        return "a dataset has a namespace and a name, as raw.trips"
    if len({name.casefold() for name in columns}) < len(columns):
        return "two of its columns have one name, apart from case"
    if len({replica.datacenter for replica in replicas}) < len(replicas):
        return "two of its replicas lie in one datacenter"
    try:
        check_locations([table], source=source)
    except UnableToApply as unable:
        return str(unable)
    return None


def check_locations(tables: Sequence[TableTelling], *, source: str) -> None:
    """Raise UnableToApply with every location that may not be read."""
    rules, wrong = rules_of(config()), []
    for table in tables:
        for replica in (table.replicas or ()) if table.business_metric is None else ():
            values = {name: getattr(replica, name) for name in ("storage", "location", "options")}
            try:
                check(LocationClaim(**values, is_trusted=source not in (PUSHED, CORRECTION)), rules)
            except UnableToUseLocation as error:
                wrong.append(f"{_at(table.place)}{table.full_name} in {replica.datacenter}: {error}")
    if wrong:
        raise UnableToApply("\n".join(wrong))


def mark_changed(names: set[str], now: datetime) -> None:
    """Leave the tests of these datasets to be reconciled."""
    for part in in_parts(name_keys(names)):
        Dataset.objects.filter(name_key__in=part).update(changed_at=now, reconcile_at=now)


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
