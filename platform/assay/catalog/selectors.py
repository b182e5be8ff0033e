"""What the catalog knows of a dataset."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, cast

from django.db import connection
from django.db.models import Q, prefetch_related_objects

from assay.access import Owned
from assay.database.name_keys import name_key
from assay.database.statements import PreparedRows
from assay.models import Dataset, LineageEdge, Replica
from assay.time.stored_times import Holds
from assay.time.windows import Granularity, UnableToPartition, UnableToReadWindow, Window

from .column_types import Declared, declared_columns
from .edges import Columns, is_read
from .profile import (
    LISTS,
    SAME,
    SLAS,
    TIERS_WHERE_EMPTY,
    BusinessMetricDefinition,
    Column,
    DatasetProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
    Storage,
    Targets,
    targets_of,
)


def profile_of(dataset: Dataset) -> DatasetProfile:
    """The dataset's metadata as its provider told it."""
    return replace(
        _metadata_of(dataset),
        columns=tuple(Column(**column) for column in dataset.columns),
        inherited_sensitive=frozenset(dataset.place_limits.get("sensitive", ())),
        replicas=tuple(
            ReplicaProfile(
                datacenter=replica.datacenter,
                storage=cast(Storage, replica.storage),
                location=replica.location,
                options=replica.options,
            )
            for replica in dataset.replicas.all()
        ),
    )


def slas(dataset: Dataset) -> Targets:
    """The SLAs and policies in force for ``dataset``: its own where metadata gives them, else its tier's."""
    own = {name: getattr(dataset, f"{name}_sla") for name in SLAS}
    own |= {name: getattr(dataset, name) for name in SAME}
    return targets_of(dataset.tier, own | {name: getattr(dataset, name) or None for name in TIERS_WHERE_EMPTY})


def _metadata_of(dataset: Dataset) -> DatasetProfile:
    """All but its replicas and columns, of which there may be thousands."""
    values: dict[str, Any] = {name: getattr(dataset, name) for name in SAME}
    values |= {name: getattr(dataset, name) or None for name in TIERS_WHERE_EMPTY}
    values |= {name: tuple(getattr(dataset, name).splitlines()) for name in LISTS}
    values["slas"] = SlaProfile(**{name: getattr(dataset, f"{name}_sla") for name in SLAS})
    if dataset.partition_column:
        values["partition"] = PartitionProfile(
            column=dataset.partition_column,
            granularity=Granularity(dataset.granularity),
            holds=Holds(dataset.partition_holds),
            stored_time_zone=dataset.stored_time_zone,
            time_zone=dataset.time_zone,
            key_format=dataset.key_format,
            first=dataset.first_partition or None,
        )
    return DatasetProfile(
        name=dataset.name,
        namespace=dataset.namespace,
        primary_key=tuple(dataset.primary_key),
        replicas=(),
        business_metric=definition_of(dataset),
        **values,
    )


def definition_of(dataset: Dataset) -> BusinessMetricDefinition | None:
    """How a business metric is computed; None for a table."""
    definition = dataset.business_metric
    return None if definition is None else BusinessMetricDefinition.from_json(definition)


def begins_at(dataset: Dataset) -> datetime | None:
    """When its first partition ever began; None where the catalog does not say so, or by a key that it has no more."""
    if dataset.partitioning is None or not dataset.first_partition:
        return None
    try:
        return dataset.partitioning.window(dataset.first_partition).start
    except UnableToPartition:
        return None


def by_name(full_name: str) -> Dataset | None:
    """The dataset called ``namespace.name``, in whatever case, if the catalog has it."""
    return by_names([full_name]).get(full_name)


def by_names(full_names: Collection[str]) -> dict[str, Dataset]:
    """The datasets of these names that the catalog has, each by the spelling that was asked for."""
    keys = {name: name_key(name) for name in full_names}
    by_key = {row.name_key: row for row in _named(connection.vendor, len(keys)).rows(*keys.values())} if keys else {}
    _add_replicas({row.pk: row for row in by_key.values()})
    return {name: by_key[key] for name, key in keys.items() if key in by_key}


@lru_cache(maxsize=64)
def _named(vendor: str, many: int) -> PreparedRows[Dataset]:
    """The datasets of so many keys of names; gates and look-ups begin with them."""
    places = [str(number) for number in range(many)]
    return PreparedRows(Dataset.objects.filter(name_key__in=places), *places)


@lru_cache(maxsize=64)
def _replicas(vendor: str, many: int) -> PreparedRows[Replica]:
    """The replicas of so many datasets, home first."""
    places = range(-many, 0)
    return PreparedRows(Replica.objects.filter(dataset__in=places), *places)


def _add_replicas(datasets: Mapping[int, Dataset]) -> None:
    """Let the datasets, by id, have their replicas as ``prefetch_related`` would, which compiles its statement anew."""
    replicas: dict[int, list[Replica]] = {id_: [] for id_ in datasets}
    for row in _replicas(connection.vendor, len(datasets)).rows(*datasets) if datasets else ():
        row.dataset = datasets[row.dataset_id]
        replicas[row.dataset_id].append(row)
    for id_, dataset in datasets.items():
        rows = Replica.objects.all()
        rows._result_cache, rows._prefetch_done = replicas[id_], True  # type: ignore[attr-defined]
        dataset._prefetched_objects_cache = {"replicas": rows}  # type: ignore[attr-defined]


def with_replicas(ids: Collection[int]) -> dict[int, Dataset]:
    """The datasets of these ids, each with its replicas."""
    return Dataset.objects.prefetch_related("replicas").in_bulk(ids)


def owned(dataset: Dataset) -> Owned:
    """Whose the dataset is, and who may see it."""
    readers = tuple(dataset.readers.splitlines())
    return Owned(name=dataset.full_name, owner=dataset.owner, team=dataset.team, readers=readers)


def declared_by(dataset: Dataset) -> tuple[Declared, ...]:
    """The columns that the dataset declares, each with since when it is declared as it is."""
    keys = [*dataset.primary_key, *filter(None, [dataset.partition_column])]
    return declared_columns(dataset.columns, dataset.declared, keys, otherwise=dataset.created_at)


def sensitive_columns(dataset: Dataset) -> frozenset[str]:
    """The columns whose values are never stored, shown or sent, without regard to case."""
    own = frozenset(column["name"].casefold() for column in dataset.columns if column.get("sensitive"))
    return own | frozenset(dataset.place_limits.get("sensitive", ()))


def home(dataset: Dataset) -> Replica:
    """The replica that all tests run at."""
    return dataset.replicas.all()[0]


def replica(dataset: Dataset, datacenter: str) -> Replica | None:
    """The dataset's replica in one datacenter, if there is one."""
    return next((replica for replica in dataset.replicas.all() if replica.datacenter == datacenter), None)


def upstream_edges(dataset: Dataset) -> list[LineageEdge]:
    """The edges into a dataset, with their upstreams, by name."""
    return list(dataset.upstream_edges.select_related("upstream").order_by("upstream__full_name"))


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Datasets and what feeds them, read for many in a few statements; any other is read when it is asked for."""

    # with their replicas, by the keys of their names; upstreams whose rows are compared are among them
    datasets: Mapping[str, Dataset]
    upstreams: Mapping[str, frozenset[str]]  # the keys of the names of what feeds each that it was read for
    edges: Mapping[str, Sequence[LineageEdge]]  # of these those whose rows are compared, by the name of the upstream
    _profiles: dict[str, DatasetProfile] = field(default_factory=dict)

    def profile_of(self, dataset: Dataset) -> DatasetProfile:
        """As the function of this name, once for each dataset."""
        if (profile := self._profiles.get(dataset.name_key)) is None:
            profile = self._profiles[dataset.name_key] = profile_of(dataset)
        return profile

    def profile_named(self, name: str) -> DatasetProfile | None:
        """The metadata of the dataset of this name, if the catalog has it."""
        row = self.datasets.get(name_key(name)) or by_name(name)
        return None if row is None else self.profile_of(row)

    def rows_named(self, names: Collection[str]) -> list[Dataset]:
        """The datasets of these names that the catalog has."""
        keys = {name: name_key(name) for name in names}
        others = by_names([name for name, key in keys.items() if key not in self.datasets])
        return [*(self.datasets[key] for key in keys.values() if key in self.datasets), *others.values()]

    def upstream_keys(self, name: str) -> frozenset[str]:
        """As the function of this name."""
        keys = self.upstreams.get(name_key(name))
        return upstream_keys(name) if keys is None else keys


def surroundings(datasets: Sequence[Dataset]) -> Surroundings:
    """These datasets, what feeds them, and the upstreams whose rows are compared with theirs."""
    prefetch_related_objects(datasets, "replicas")
    keys = {dataset.pk: dataset.name_key for dataset in datasets}
    upstreams: dict[str, set[str]] = {key: set() for key in keys.values()}
    into = LineageEdge.objects.filter(downstream__in=keys)
    for downstream, upstream in into.values_list("downstream_id", "upstream__name_key"):
        upstreams[keys[downstream]].add(upstream)
    compared = list(into.filter(Q(one_to_one=True) | Q(sampled=True)).order_by("upstream__full_name"))
    rows = with_replicas({edge.upstream_id for edge in compared})
    edges: dict[str, list[LineageEdge]] = {key: [] for key in upstreams}
    for edge in compared:
        edge.upstream = rows[edge.upstream_id]
        edges[keys[edge.downstream_id]].append(edge)
    return Surroundings(
        datasets={row.name_key: row for row in (*rows.values(), *datasets)},
        upstreams={key: frozenset(above) for key, above in upstreams.items()},
        edges=edges,
    )


def upstream_keys(full_name: str) -> frozenset[str]:
    """The keys of the names of what feeds a dataset directly."""
    edges = LineageEdge.objects.filter(downstream__name_key=name_key(full_name))
    return frozenset(edges.values_list("upstream__name_key", flat=True))


def downstreams(dataset: Dataset, *, broken: frozenset[str] | None = None) -> list[Dataset]:
    """The datasets directly fed by this one, by name; of ``broken`` columns only those that may read one of them."""
    edges = dataset.downstream_edges.select_related("downstream").order_by("downstream__full_name")
    return [edge.downstream for edge in edges if is_read(edge.columns, broken)]


def lineage_above(*dataset_ids: int) -> dict[int, dict[int, Columns]]:
    """Of these datasets and of all that feeds them the direct upstreams, by id, and what is read of each.

    It is a query for each step up.
    """
    upstreams: dict[int, dict[int, Columns]] = {}
    ids = {*dataset_ids}
    while ids:
        upstreams |= {id_: {} for id_ in ids}
        edges = LineageEdge.objects.filter(downstream__in=ids)
        for downstream, upstream, columns in edges.values_list("downstream_id", "upstream_id", "columns"):
            upstreams[downstream][upstream] = columns
        ids = {upstream for downstream in ids for upstream in upstreams[downstream]} - upstreams.keys()
    return upstreams


# The window that a person or a pipeline means: a partition's key, or two instants.


def window_from_text(dataset: Dataset, text: str) -> Window:
    """The window of a partition key, or of ``START/END`` in ISO 8601; raises UnableToReadWindow."""
    if "/" in text:
        return Window.parse(text).taken()
    if dataset.partitioning is None:
        raise UnableToReadWindow(f"{dataset.full_name} has no partitions: give the window as START/END in ISO 8601")
    try:
        return dataset.partitioning.window(text).taken()
    except UnableToPartition as error:
        raise UnableToReadWindow(f"{dataset.full_name}: {error} Or give START/END in ISO 8601.") from None


def parse_windows(datasets: Sequence[Dataset], text: str, now: datetime) -> list[Window]:
    """What one text means for each of several datasets; raises UnableToReadWindow.

    A key names a partition of those that have partitions. The others, such as a dimension beside its fact, are meant
    as they lie now.
    """
    is_key = "/" not in text and any(dataset.partitioning for dataset in datasets)
    return [
        latest_ended(dataset, now) if is_key and dataset.partitioning is None else window_from_text(dataset, text)
        for dataset in datasets
    ]


def latest_ended(dataset: Dataset, now: datetime) -> Window:
    """The last partition that has ended; for a table without partitions the day up to now."""
    if dataset.partitioning is None:
        return Window(start=now - timedelta(days=1), end=now)
    current = dataset.partitioning.at(now)
    return dataset.partitioning.previous(current)[0]
