"""Micro-batches of a stream: each is judged as it comes, and with all before it, whose data is not read again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from execution_engine.engines.gathering import from_state
from execution_engine.engines.protocol import Engine, Measured, Table, failed
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState, from_bytes
from execution_engine.outcome import Reason
from execution_engine.own_files import read_file, write_file
from execution_engine.parts.incremental import union

from .check import Check
from .constraints import Status, gravest
from .repository import NO_STATE, MetricsRepository, ResultKey, UnableToReadRepository
from .suite import VerificationResult, VerificationSuite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILE = "batches.states"
FORMAT = "assay-batches/1"
_MISSING = (
    "{}: {:,} earlier batches were judged without it, or it could not be measured of one: say Check(…, on='delta'), or "
    "give BatchStates another path, where batches are counted from now on"
)


@dataclass(frozen=True)
class BatchStates:
    """Keeps the states of the batches of one stream in one file: ``path`` is a folder, or a place in an object store.

    The file has the state of each metric over all batches before the last, and that of the last batch, which
    may be judged again. It is replaced in one step. Each query has a path of its own, beside its checkpoint.
    """

    path: Path | str

    @property
    def file(self) -> str:
        """The path or URL of the file."""
        return f"{self.path}".rstrip("/") + f"/{FILE}"


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What ``verify_batch`` returns: what came of the checks on the batch, and on all batches up to it.

    ``is_replay``: the batch had been counted before, and counts once.
    """

    batch_id: int
    batch: VerificationResult
    total: VerificationResult
    is_replay: bool = False

    @property
    def status(self) -> Status:
        """The more serious status of both."""
        return gravest((self.batch.status, self.total.status))

    def __str__(self) -> str:
        replay = ", which had been counted" if self.is_replay else ""
        return "\n".join(filter(None, (f"batch {self.batch_id}{replay}:", str(self.batch), "in all:", str(self.total))))


def verify_batch(
    frame: "DataFrame | Table | str | Path",
    batch_id: int,
    checks: Check | Sequence[Check],
    states: BatchStates,
    *,
    name: str = "",
    engine: Engine | None = None,
    repository: MetricsRepository | None = None,
) -> BatchResult:
    """Judges one micro-batch as ``foreachBatch`` hands it over, and all batches so far, in one scan of the batch.

    Checks on the delta are of the batch alone; all others of the batch, and of all batches up to it. The last batch
    replaces itself where it is judged again; an older one is judged, and changes nothing of the rest. In a repository
    batch n stands at n seconds after 1970. Raises UnableToReadRepository where the file of ``states`` is damaged, and
    OSError where it cannot be read or written; then the batch does not count.
    """
    every_check = [checks] if isinstance(checks, Check) else list(checks)
    key, sums = ResultKey(at=datetime.fromtimestamp(batch_id, UTC)), _read(states, batch_id)
    verification = VerificationSuite(engine=engine).on(frame, name)
    verification = verification.add_check(*(replace(check, on="delta") for check in every_check))
    verification = verification.add_check(*(check for check in every_check if check.on == "whole"))
    if repository is not None:
        verification = verification.use_repository(repository, key)
    result = verification.add_up(sums, key).run()
    sums.write()
    batch, total = (
        replace(
            result,
            checks=tuple(check for check in result.checks if check.on == on),
            metrics={name: value for name, value in result.metrics.items() if name.endswith(" on delta") is is_delta},
        )
        for on, is_delta in (("delta", True), ("whole", False))
    )
    return BatchResult(batch_id=batch_id, batch=batch, total=total, is_replay=sums.is_replay)


@dataclass(kw_only=True)
class _Sums:
    """The states of the batches while one of them is judged: ``earlier`` by the texts of metrics, in disjoint parts."""

    states: BatchStates
    batch_id: int
    count: int = 0  # batches before it
    is_replay: bool = False
    is_past: bool = False  # later batches were counted: this one is among the earlier
    earlier: dict[str, list[bytes]] = field(default_factory=dict)
    _parts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)  # as they are to be written
    _is_noted: bool = False

    def note(self, key: ResultKey) -> None:
        """Something of the batch could be measured: it counts."""
        self._is_noted = True

    def add_up(self, key: ResultKey, spec: MetricSpec, delta: Measured) -> Measured:
        """The metric over all batches up to this one; a failure where it does not add up, or lacks earlier batches."""
        if delta.failure is not None:
            return delta
        if delta.state is None or spec.by:
            return failed(Reason.INVALID, NO_STATE.format(spec.text))
        if self.count and spec.text not in self.earlier:
            return failed(Reason.INVALID, _MISSING.format(spec.text, self.count))
        try:
            parts = [from_bytes(spec, part) for part in self.earlier.get(spec.text, ())]
            before = [union(spec, parts)] if parts else []
            total = union(spec, before if self.is_past else [*before, from_bytes(spec, delta.state)])
        except UnableToReadState as error:
            return failed(Reason.INVALID, f"{spec.text}: a state in {self.states.file} cannot be added: {error}")
        self._parts[spec.text] = (before[0].to_bytes(spec) if before else b"", delta.state)
        return from_state(spec, total)

    def write(self) -> None:
        """Replace the file, so that this is the last batch; it stays as it is for a batch that was counted long ago."""
        if self.is_past or not self._is_noted:
            return
        sizes = {text: [len(part) for part in parts] for text, parts in self._parts.items()}
        head = {"format": FORMAT, "last": self.batch_id, "before": self.count, "sizes": sizes}
        bodies = [part for parts in self._parts.values() for part in parts]
        write_file(self.states.file, b"".join([json.dumps(head).encode(), b"\n", *bodies]))


def _read(states: BatchStates, batch_id: int) -> _Sums:
    """What is known of the batches before this one, or of all where it is none of the last."""
    try:
        content = read_file(states.file)
    except FileNotFoundError:
        return _Sums(states=states, batch_id=batch_id)
    try:
        line, _, body = content.partition(b"\n")
        head = json.loads(line)
        last, count, sizes = int(head["last"]), int(head["before"]), dict(head["sizes"])
        if head["format"] != FORMAT or sum(map(sum, sizes.values())) != len(body):
            raise ValueError("it is cut off, or of another version")
    except (ValueError, KeyError, TypeError) as error:
        raise UnableToReadRepository(
            f"{states.file} holds no states of batches ({error!r}): remove it, and batches are counted from now on"
        ) from None
    earlier, at = dict[str, list[bytes]](), 0
    for text, (before, of_last) in sizes.items():
        parts = [body[at : at + before], body[at + before : at + before + of_last]]
        earlier[text] = [part for part in (parts[:1] if batch_id == last else parts) if part]
        at += before + of_last
    return _Sums(
        states=states,
        batch_id=batch_id,
        count=count if batch_id == last else count + 1,
        is_replay=batch_id <= last,
        is_past=batch_id < last,
        earlier=earlier,
    )
