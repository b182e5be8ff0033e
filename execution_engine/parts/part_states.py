"""The states of a dataset's partitions in one datacenter, kept in the database, the large ones in the state store."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s

from django.db import transaction
from django.db.models import QuerySet

from assay.clock import now
from assay.models import Dataset
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.models import PartState
from execution_engine.planning.planner import hash_of

from .incremental import Prints
from .row_states import keep_state, state_of
from .state_store import UnableToLoadState as UnableToReadFile

AT_ONCE = 100  # rows of one statement: MariaDB takes 16 MB at a time
MOST_ROWS = 1_000  # that one query reads, with up to 64 kB in each
MOST_UNIONS = 2  # of one metric; each is as large as all its partitions' states together


@dataclass(frozen=True, kw_only=True)
class Union:
    """A state over several partitions."""

    row: PartState

    @property
    def prints(self) -> Prints:
        """The partitions in it, with the fingerprints that they had."""
        return dict(self.row.prints)

    def load(self) -> bytes:
        """The state; UnableToReadState where its file is gone or damaged."""
        state = _loaded(self.row)
        if state is None:
            raise UnableToReadState(f"the state {self.row.state_path} is gone")
        return state


@dataclass(frozen=True, kw_only=True)
class PartStates:
    """The repository of one dataset in one datacenter."""

    dataset: Dataset
    datacenter: str

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> dict[MetricSpec, dict[str, bytes]]:
        """Of each metric the states of those partitions that are known with these fingerprints, by key."""
        found: dict[MetricSpec, dict[str, bytes]] = defaultdict(dict)
        at_once = max(1, MOST_ROWS // len(prints))
        for at in range(0, len(specs), at_once):
            some = _by_hash(specs[at : at + at_once])
            for row in self._of(some).filter(key__in=list(prints)):
                if row.fingerprint == prints[row.key] and (state := _loaded(row)) is not None:
                    found[some[row.spec_hash]][row.key] = state
        return dict(found)

    def rollups(self, specs: Sequence[MetricSpec]) -> dict[MetricSpec, list[Union]]:
        """Of each metric the states over several partitions, the newest first."""
        some, found = _by_hash(specs), defaultdict(list)
        for row in self._of(some).filter(key="").defer("state").order_by("-pk"):
            found[some[row.spec_hash]].append(Union(row=row))
        return dict(found)

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Keep the states of partitions, in place of those that their older data had."""
        at = now()
        alike: dict[tuple[str, ...], list[PartState]] = defaultdict(list)  # an older state goes for a newer one alone
        for spec, some in states.items():
            alike[tuple(some)] += [self._row(spec, key, prints[key], state, at) for key, state in some.items()]
        for rows in alike.values():
            self._keep(rows)

    def save_part(self, key: str, print_: str, states: Mapping[MetricSpec, bytes]) -> None:
        """Keep the states of one partition, of many metrics."""
        at = now()
        self._keep([self._row(spec, key, print_, state, at) for spec, state in states.items()])

    def _keep(self, rows: Sequence[PartState]) -> None:
        """These states, of each of the same metrics over each of the same partitions."""
        if not rows:
            return
        older = PartState.objects.filter(
            dataset=self.dataset,
            datacenter=self.datacenter,
            spec_hash__in={row.spec_hash for row in rows},
            key__in={row.key for row in rows},
        )
        with transaction.atomic():
            older.delete()
            PartState.objects.bulk_create(rows, AT_ONCE, ignore_conflicts=True)

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Keep the states over all these partitions, and only the newest few of each metric."""
        lines = "\n".join(f"{key}={print_}" for key, print_ in sorted(prints.items()))
        fingerprint = blake2s(lines.encode(), digest_size=16).hexdigest()
        at = now()
        rows = [self._row(spec, "", fingerprint, state, at) for spec, state in states]
        for row in rows:
            row.prints = dict(prints)
        PartState.objects.bulk_create(rows, AT_ONCE, ignore_conflicts=True)
        self._prune({row.spec_hash for row in rows})

    def _prune(self, hashes: Collection[str]) -> None:
        unions = self._of(hashes).filter(key="")
        kept: Counter[str] = Counter()
        old = []
        for pk, hashed in unions.order_by("-pk").values_list("pk", "spec_hash"):
            kept[hashed] += 1
            if kept[hashed] > MOST_UNIONS:
                old.append(pk)
        if old:
            unions.filter(pk__in=old).delete()

    def _of(self, hashes: Collection[str]) -> QuerySet[PartState]:
        return PartState.objects.filter(dataset=self.dataset, datacenter=self.datacenter, spec_hash__in=hashes)

    def _row(self, spec: MetricSpec, key: str, fingerprint: str, state: bytes, kept_at: datetime) -> PartState:
        row = PartState(
            dataset=self.dataset,
            datacenter=self.datacenter,
            spec_hash=hash_of(spec, ()),
            key=key,
            fingerprint=fingerprint,
            kept_at=kept_at,
        )
        keep_state(row, state)
        return row


def _by_hash(specs: Sequence[MetricSpec]) -> dict[str, MetricSpec]:
    return {hash_of(spec, ()): spec for spec in specs}


def _loaded(row: PartState) -> bytes | None:
    """The state; None where its file is gone or damaged, so that it is measured again."""
    try:
        return state_of(row)
    except UnableToReadFile:
        return None
