"""States kept in folders: by their content, and many metrics in one file by partition, fingerprint and metric."""

from pathlib import Path

import pytest

from benchmarks.engine.state_folder import MOST_ROLLUPS, StateFolder
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.parts.state_store import UnableToLoadState, load_state, store_state

KEYS, NULLS, SUM = (MetricSpec(name=name, columns=("id",)) for name in ("distinct_count", "completeness", "sum"))
DAYS = {"mon": "f", "tue": "g"}


@pytest.fixture
def states(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path)


def test_a_state_is_found_by_its_partition_its_data_and_its_metric(states: StateFolder) -> None:
    states.save_parts(DAYS, {KEYS: {"mon": b"km", "tue": b"kt"}, NULLS: {"mon": b""}})
    states.save_parts({"mon": "f"}, {SUM: {"mon": b"sm"}})
    assert states.parts([KEYS, NULLS, SUM], DAYS) == {
        KEYS: {"mon": b"km", "tue": b"kt"},
        NULLS: {"mon": b""},
        SUM: {"mon": b"sm"},
    }
    assert states.parts([KEYS], {"mon": "rewritten", "wed": "f"}) == {}


def test_of_two_states_of_the_same_the_newer_is_told(states: StateFolder) -> None:
    for state in (b"older", b"newer"):
        states.save_parts({"mon": "f"}, {KEYS: {"mon": state}})
    assert states.parts([KEYS], {"mon": "f"}) == {KEYS: {"mon": b"newer"}}


def test_of_each_metric_the_newest_unions_stay(states: StateFolder) -> None:
    states.save_rollups({"mon": "f"}, [(NULLS, b"n")])
    for at in range(MOST_ROLLUPS + 2):
        states.save_rollups({"mon": f"f{at}"}, [(KEYS, b"k%d" % at), (SUM, b"s%d" % at)])
    found = states.rollups([KEYS, NULLS, SUM])
    assert [(dict(each.prints), bytes(each.load())) for each in found[KEYS]] == [
        ({"mon": "f3"}, b"k3"),
        ({"mon": "f2"}, b"k2"),
    ]
    assert [bytes(each.load()) for each in found[SUM]] == [b"s3", b"s2"]
    assert [bytes(each.load()) for each in found[NULLS]] == [b"n"]
    assert len(list(states.folder.rglob("*.states"))) == MOST_ROLLUPS + 1


def test_a_union_that_is_gone_says_so_when_it_is_read(states: StateFolder) -> None:
    states.save_rollups(DAYS, [(KEYS, b"k")])
    (union,) = states.rollups([KEYS])[KEYS]
    (file,) = states.folder.rglob("*.states")
    file.unlink()
    with pytest.raises(UnableToReadState, match="cannot be read"):
        union.load()


@pytest.mark.parametrize("kept", [0, 4, 40], ids=["nothing", "less than its last bytes", "a part"])
def test_files_that_are_cut_off_are_as_if_they_were_not_there(states: StateFolder, kept: int) -> None:
    states.save_parts({"mon": "f"}, {KEYS: {"mon": b"k" * 100}})
    states.save_rollups(DAYS, [(KEYS, b"k" * 100)])
    for path in states.folder.rglob("*.states"):
        path.write_bytes(path.read_bytes()[:kept])
    assert states.parts([KEYS], {"mon": "f"}) == {}
    assert states.rollups([KEYS]) == {KEYS: []}


def test_a_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path, checksum = store_state(str(tmp_path), b"state" * 1000)
    assert load_state(str(tmp_path), path, 5000, checksum) == b"state" * 1000


def test_equal_states_are_kept_once(tmp_path: Path) -> None:
    assert store_state(str(tmp_path), b"same") == store_state(str(tmp_path), b"same")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


@pytest.mark.parametrize("damage", [b"", b"stat", b"State"])
def test_a_damaged_state_is_refused(tmp_path: Path, damage: bytes) -> None:
    path, checksum = store_state(str(tmp_path), b"state")
    (tmp_path / path).write_bytes(damage)
    with pytest.raises(UnableToLoadState, match="is not the 5 bytes that were written"):
        load_state(str(tmp_path), path, 5, checksum)


def test_a_lost_state_is_refused(tmp_path: Path) -> None:
    path, checksum = store_state(str(tmp_path), b"state")
    (tmp_path / path).unlink()
    with pytest.raises(UnableToLoadState, match="cannot be read"):
        load_state(str(tmp_path), path, 5, checksum)
