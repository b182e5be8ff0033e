"""The states of a dataset's partitions in one datacenter, kept in the database, the large ones in the state store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

from django.db import transaction
from django.db.models import Q

from assay.clock import now
from assay.models import Dataset
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.models import PartState
from execution_engine.planning.planner import hash_of

from .incremental import Prints
from .row_states import keep_state, state_of
from .state_store import UnableToLoadState as UnableToReadFile

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

    def parts(self, spec: MetricSpec, prints: Prints) -> dict[str, bytes]:
        """The states of those partitions that are known with these fingerprints, by key."""
        rows = self._of(spec).filter(key__in=list(prints))
        found = {row.key: _loaded(row) for row in rows if row.fingerprint == prints[row.key]}
        return {key: state for key, state in found.items() if state is not None}

    def rollups(self, spec: MetricSpec) -> Sequence[Union]:
        """The states over several partitions, the newest first."""
        return [Union(row=row) for row in self._of(spec).filter(key="").defer("state").order_by("-pk")]

    def save_parts(self, spec: MetricSpec, prints: Prints, states: Mapping[str, bytes]) -> None:
        """Keep the states of partitions, in place of those that their older data had."""
        self._keep([self._row(spec, key, prints[key], state) for key, state in states.items()])

    def save_part(self, key: str, print_: str, states: Mapping[MetricSpec, bytes]) -> None:
        """Keep the states of one partition, of many metrics."""
        self._keep([self._row(spec, key, print_, state) for spec, state in states.items()])

    def _keep(self, rows: Sequence[PartState]) -> None:
        """These states, of one metric or of one partition."""
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
            PartState.objects.bulk_create(rows, ignore_conflicts=True)

    def save_rollup(self, spec: MetricSpec, prints: Prints, state: bytes) -> None:
        """Keep the state over all these partitions, and only the newest few."""
        lines = "\n".join(f"{key}={print_}" for key, print_ in sorted(prints.items()))
        fingerprint = blake2s(lines.encode(), digest_size=16).hexdigest()
        row = self._row(spec, "", fingerprint, state)
        row.prints = dict(prints)
        PartState.objects.bulk_create([row], ignore_conflicts=True)
        kept = list(self._of(spec).filter(key="").order_by("-pk").values_list("pk", flat=True)[:MOST_UNIONS])
        self._of(spec).filter(~Q(pk__in=kept), key="").delete()

    def _of(self, spec: MetricSpec) -> Any:
        return PartState.objects.filter(dataset=self.dataset, datacenter=self.datacenter, spec_hash=hash_of(spec, ()))

    def _row(self, spec: MetricSpec, key: str, fingerprint: str, state: bytes) -> PartState:
        row = PartState(
            dataset=self.dataset,
            datacenter=self.datacenter,
            spec_hash=hash_of(spec, ()),
            key=key,
            fingerprint=fingerprint,
            kept_at=now(),
        )
        keep_state(row, state)
        return row


def _loaded(row: PartState) -> bytes | None:
    """The state; None where its file is gone or damaged, so that it is measured again."""
    try:
        return state_of(row)
    except UnableToReadFile:
        return None
