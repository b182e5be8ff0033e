from pathlib import Path

import pytest

from execution_engine.parts.state_store import UnableToLoadState, load_state, store_state


def test_a_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path, checksum = store_state(tmp_path, b"state" * 1000)
    assert load_state(tmp_path, path, 5000, checksum) == b"state" * 1000


def test_equal_states_are_kept_once(tmp_path: Path) -> None:
    assert store_state(tmp_path, b"same") == store_state(tmp_path, b"same")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


@pytest.mark.parametrize("damage", [b"", b"stat", b"State"])
def test_a_damaged_state_is_refused(tmp_path: Path, damage: bytes) -> None:
    path, checksum = store_state(tmp_path, b"state")
    (tmp_path / path).write_bytes(damage)
    with pytest.raises(UnableToLoadState, match="is not the 5 bytes that were written"):
        load_state(tmp_path, path, 5, checksum)


def test_a_lost_state_is_refused(tmp_path: Path) -> None:
    path, checksum = store_state(tmp_path, b"state")
    (tmp_path / path).unlink()
    with pytest.raises(UnableToLoadState, match="cannot be read"):
        load_state(tmp_path, path, 5, checksum)
