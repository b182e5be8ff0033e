"""The state that a row has: in the row itself, or in the state store where it is large."""

from typing import Protocol

from assay.config import config

from .state_store import INLINE_BYTES, StoredState, load_state, store_state

STATE = ("state", "state_path", "state_length", "state_checksum")  # the columns


class Stateful(Protocol):
    """A row with these columns."""

    state: "bytes | memoryview[int] | None"
    state_path: str
    state_length: int
    state_checksum: str


def state_of(row: Stateful) -> bytes:
    """The state of a row, wherever it is kept, empty where there is none; raises UnableToLoadState."""
    if not row.state_path:
        return bytes(row.state or b"")
    stored = StoredState(path=row.state_path, length=row.state_length, checksum=row.state_checksum)
    return load_state(config().states, stored)


def keep_state(row: Stateful, state: bytes | None) -> None:
    """Give a row its state; whoever calls writes the row."""
    row.state, row.state_path, row.state_length, row.state_checksum = state, "", 0, ""
    if state is not None and len(state) > INLINE_BYTES:
        stored = store_state(config().states, state)
        row.state = None
        row.state_path, row.state_length, row.state_checksum = stored.path, stored.length, stored.checksum
