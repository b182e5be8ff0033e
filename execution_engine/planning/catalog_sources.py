"""The catalog as planning sees it, each dataset read once for as long as one task works."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import cached_property

from django.db.models import Prefetch, prefetch_related_objects

from assay.catalog.selectors import declared_by, definition_of, profile_of, sensitive_columns, slas
from assay.database.name_keys import name_key
from assay.models import Dataset, LineageEdge, Revision
from assay.time.windows import Window
from execution_engine.disclosure import Privacy, objection, privacy_of
from execution_engine.metrics.definitions.sample import SAMPLE_FOUND
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Suspect
from execution_engine.outcome import Failure, Reason
from execution_engine.quarantine import quarantine_failure

from .planner import PlannedSource, Want

# What is quarantined, as planning sees it: nobody measures it until its test is revised, or a hand lifts it.

Place = tuple[int, str, str]  # dataset, datacenter, spec_hash


class Quarantine:
    """The quarantined suspects, read once for as long as one task works; ``id_of``: of a dataset, by its name."""

    def __init__(self, id_of: Callable[[str], int]) -> None:
        self._id_of = id_of

    def failure(self, revision: Revision, wants: Iterable[Want]) -> Failure | None:
        """Why a run of the revision is not to be measured, if it is not; one written since is tried again."""
        for want in wants if self._suspects else ():
            for suspect in self._suspects.get((self._id_of(want.dataset), want.datacenter, want.spec_hash), ()):
                assert suspect.quarantined_at
                # where the poison was found, or anywhere while nothing says that it is in that window alone
                is_here = suspect.window.overlaps(want.window) or suspect.pk not in self._measured_elsewhere
                if is_here and revision.created_at <= suspect.quarantined_at:
                    last = Failure(reason=Reason(suspect.reason), detail=suspect.detail)
                    return quarantine_failure(suspect.spec_text, suspect.ends, last)
        return None

    @cached_property
    def _suspects(self) -> dict[Place, list[Suspect]]:
        suspects_by_place: dict[Place, list[Suspect]] = defaultdict(list)
        for row in Suspect.objects.filter(quarantined_at__isnull=False):
            suspects_by_place[row.dataset_id, row.datacenter, row.spec_hash].append(row)
        return suspects_by_place

    @cached_property
    def _measured_elsewhere(self) -> set[int]:
        """Those whose metric has given a value over another window since it first ended abnormally."""
        return {
            row.pk
            for rows in self._suspects.values()
            for row in rows
            if Measurement.objects.filter(
                dataset=row.dataset_id,
                datacenter=row.datacenter,
                spec_hash=row.spec_hash,
                measured_at__gt=row.first_at,
                failure_reason="",
            ).exists()
        }


FEEDING = Prefetch("upstream_edges", queryset=LineageEdge.objects.select_related("upstream"))
MOST_SHARE = 0.999  # of its upstream's rows completes a window, even if the completeness SLA is stricter


class Sources:
    """What planning needs to know of the datasets, by full name in whatever case."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._entries: dict[str, tuple[Dataset, PlannedSource] | None] = {}  # by the key of the name
        self._feeding: dict[str, Dataset] = {}  # read with those that they feed, but not what lies around them
        self.quarantine = Quarantine(lambda name: self.dataset(name).pk)

    def __call__(self, name: str) -> PlannedSource | None:
        """The source called ``name``, or None."""
        entry = self._find(name)
        return entry[1] if entry else None

    def dataset(self, name: str) -> Dataset:
        """The row of a source that is known to be there."""
        entry = self._find(name)
        if entry is None:
            raise Dataset.DoesNotExist(name)
        return entry[0]

    def privacy(self, name: str) -> Privacy | None:
        """What may be told of the dataset called ``name``, or None."""
        entry = self._find(name)
        return privacy_at(entry[0]) if entry else None

    def load(self, names: Collection[str]) -> None:
        """Read these now, all in one go."""
        missing = {name_key(name) for name in names} - self._entries.keys()
        if not missing:
            return
        unread = missing - self._feeding.keys()
        read = Dataset.objects.filter(name_key__in=unread) if unread else ()
        self.know([*(self._feeding[key] for key in sorted(missing - unread)), *read])
        self._entries |= dict.fromkeys(missing - self._entries.keys())

    def know(self, datasets: Iterable[Dataset]) -> None:
        """Take these as they are; what lies around them is read in one go."""
        new = list(
            {dataset.name_key: dataset for dataset in datasets if dataset.name_key not in self._entries}.values()
        )
        prefetch_related_objects(new, "replicas", FEEDING)
        self._entries |= {dataset.name_key: (dataset, source_of(dataset, self._now)) for dataset in new}
        self._feeding |= {
            edge.upstream.name_key: edge.upstream for dataset in new for edge in dataset.upstream_edges.all()
        }

    def _find(self, name: str) -> tuple[Dataset, PlannedSource] | None:
        self.load({name})
        return self._entries[name_key(name)]


def source_of(dataset: Dataset, now: datetime) -> PlannedSource:
    """What planning needs to know of one dataset."""
    definition = definition_of(dataset)
    edges = [edge for edge in dataset.upstream_edges.all() if edge.sampled] if dataset.primary_key else []
    sampled: list[str] = []  # the upstreams outside the lake of which keys may be drawn, looked up here and shown
    if edges and any(replica.is_in_lake for replica in profile_of(dataset).replicas[:1]):
        own, of_upstreams = privacy_at(dataset), {edge.upstream.full_name: profile_of(edge.upstream) for edge in edges}
        private = {name: privacy_of(profile) for name, profile in of_upstreams.items()}
        sampled = [
            name
            for name, profile in sorted(of_upstreams.items())
            if not any(replica.is_in_lake for replica in profile.replicas[:1])
            and objection(own, MetricSpec(name=SAMPLE_FOUND.name, arguments=(name,)), None, private.get) is None
        ]
    return PlannedSource(
        name=dataset.full_name,
        datacenters=tuple(replica.datacenter for replica in dataset.replicas.all()),
        partitioning=dataset.partitioning,
        time_zone=dataset.time_zone,
        primary_key=tuple(dataset.primary_key),
        share=min(MOST_SHARE, slas(dataset).completeness),
        upstreams=tuple(sorted(edge.upstream.full_name for edge in dataset.upstream_edges.all() if edge.one_to_one)),
        sampled=tuple(sampled),
        keys=tuple(
            (edge.upstream.full_name, own, there)
            for edge in dataset.upstream_edges.all()
            for own, there in edge.keys.items()
        ),
        retention_start=retention_start(dataset, now),
        declared=declared_by(dataset),
        unprofiled=tuple(filter(None, (*sorted(sensitive_columns(dataset)), dataset.partition_column))),
        expression=definition.canonical if definition else "",
        sources=definition.sources if definition else (),
    )


def privacy_at(dataset: Dataset) -> Privacy:
    """What may be told of a dataset, whose lineage names columns of its upstreams too."""
    edges = dataset.upstream_edges.all()
    return privacy_of(
        profile_of(dataset),
        upstreams=frozenset(edge.upstream.name_key for edge in edges),
        keys=tuple(there for edge in edges for there in edge.keys.values()),
    )


def retention_start(dataset: Dataset, now: datetime) -> datetime | None:
    """The start of the oldest partition that retention keeps; None where all are kept."""
    if dataset.retention is None:
        return None
    oldest = now - dataset.retention
    return dataset.partitioning.at(oldest).start if dataset.partitioning else None


def is_expired(dataset: Dataset, window: Window, now: datetime) -> bool:
    """Whether the whole window is beyond the dataset's retention."""
    start = retention_start(dataset, now)
    return start is not None and window.end <= start


def expires_at(dataset: Dataset, window: Window) -> datetime | None:
    """From when on the whole window is beyond the dataset's retention; None for never."""
    if dataset.retention is None or dataset.partitioning is None:
        return None
    return window.end + dataset.retention
