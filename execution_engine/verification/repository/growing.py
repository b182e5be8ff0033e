"""Metrics of a table that grows by deltas: each delta is read once, its states are kept and added up."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s
from pathlib import Path

from execution_engine.engines.gathering.assembly import from_state
from execution_engine.engines.protocol import Measured, failed
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState, from_bytes
from execution_engine.outcome import Reason
from execution_engine.parts.incremental import union
from execution_engine.parts.state_store import write_whole

from .metrics import ResultKey

_NO_STATE = "{}: it does not add up over deltas; say Check(…, on='delta'), give the whole table, or take one that does"


_MISSING = (
    "{}: earlier deltas ({}, the last of {:%Y-%m-%d %H:%M} UTC) were verified without it: "
    "verify them again with this check, or say Check(…, on='delta')"
)
_AT = "%Y%m%dT%H%M%S.%f"


@dataclass(frozen=True)
class FolderOfStates:
    """Keeps the states of the metrics of a table that grows, for ``Verification.add_up``, in a folder.

    The state of each metric over each delta is a file of its own. Beside them stands which deltas there were. The
    methods are those that ``Verification.run`` calls.

    Parameters:
        path: the folder. The first run makes it.

    Errors: none.

    Shared parameters:
        key: the delta: its instant and tags.
        spec: the metric.

    Example:
        >>> states = FolderOfStates(folder / "states")
        >>> first, second = ResultKey.of(date(2026, 3, 10)), ResultKey.of(date(2026, 3, 11))
    """

    path: Path | str

    def save(self, key: ResultKey, spec: MetricSpec, state: bytes) -> None:
        """Keeps the state of one metric over one delta. A state of the same key is replaced, in one step.

        Parameters:
            state: the bytes that the engine gives for the metric.

        Errors:
            OSError: the folder cannot be written.

        Example:
            >>> states.save(first, SIZE, b"10")
        """
        write_whole(self._folder(key, spec) / _name(key), [state])

    def before(self, key: ResultKey, spec: MetricSpec) -> list[bytes]:
        """Returns the states of a metric over all deltas before ``key`` under the same tags, the oldest first.

        Errors:
            OSError: a state cannot be read.

        Example:
            >>> states.before(second, SIZE)
            [b'10']
        """
        paths = sorted(self._folder(key, spec).glob("*.state"))
        return [path.read_bytes() for path in paths if path.name < _name(key)]

    def note(self, key: ResultKey) -> None:
        """Keeps that there was this delta, whatever was measured of it.

        Errors:
            OSError: the folder cannot be written.

        Example:
            >>> states.note(first)
        """
        write_whole(self._deltas(key) / f"{_stem(key)}.delta", [])

    def missing(self, key: ResultKey, spec: MetricSpec) -> list[datetime]:
        """Returns the instants, in UTC and without a zone, of the earlier deltas of which the metric has no state.

        Errors:
            OSError: the folder cannot be read.

        Example:
            >>> states.missing(second, SIZE), states.missing(second, metric("mean", "fare"))
            ([], [datetime.datetime(2026, 3, 10, 0, 0)])
        """
        noted = {path.name.removesuffix(".delta") for path in self._deltas(key).glob("*.delta")}
        known = {path.name.removesuffix(".state") for path in self._folder(key, spec).glob("*.state")}
        return [datetime.strptime(stem, _AT) for stem in sorted(noted - known) if stem < _stem(key)]

    def _deltas(self, key: ResultKey) -> Path:
        return Path(self.path) / _hash(repr(key.tags)) / "deltas"

    def _folder(self, key: ResultKey, spec: MetricSpec) -> Path:
        return Path(self.path) / _hash(repr(key.tags)) / _hash(spec.text)


def added_up(states: FolderOfStates, key: ResultKey, spec: MetricSpec, delta: Measured) -> Measured:
    """The metric over all deltas up to this one, whose state is kept; a failure where the metric does not add up."""
    if delta.failure is not None:
        return delta
    if delta.state is None or spec.by:
        return failed(Reason.INVALID, _NO_STATE.format(spec.text))
    try:
        summed = from_state(
            spec, union(spec, [from_bytes(spec, part) for part in [*states.before(key, spec), delta.state]])
        )
    except UnableToReadState as error:
        return failed(Reason.INVALID, f"{spec.text}: a state in {states.path} cannot be added: {error}")
    states.save(key, spec, delta.state)
    missing = states.missing(key, spec)
    return failed(Reason.INVALID, _MISSING.format(spec.text, len(missing), missing[-1])) if missing else summed


def _name(key: ResultKey) -> str:
    return f"{_stem(key)}.state"


def _stem(key: ResultKey) -> str:
    return key.at.strftime(_AT)


def _hash(text: str) -> str:
    return blake2s(text.encode(), digest_size=12).hexdigest()
