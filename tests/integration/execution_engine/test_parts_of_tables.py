"""What an engine is asked for rows in no partition and for partitions whose states are kept, and what comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.config import config
from assay.models import Dataset, Scope
from execution_engine.engines.files.listing import read_fingerprints_by_key
from execution_engine.engines.protocol import HIVE_NULL, WHOLE, Measured, MeasurementRequest, Part, ScanReport, Table
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.models import PartState
from execution_engine.outcome import Failure, Reason
from execution_engine.parts.part_states import PartStates, scan_by_parts
from execution_engine.parts.state_store import INLINE_BYTES
from execution_engine.read_by import ReadBy
from execution_engine.scans.reading import count_unpartitioned
from execution_engine.selectors import keeping_states
from tests.factories import NOW, DatasetFactory, DataTestFactory
from tests.fakes import FakeEngine
from tests.fixture_types import Patch

KEYS = MetricSpec(name="count_distinct", columns=("id",))
MEAN = MetricSpec(name="mean", columns=("fare",))
QUERY = MetricSpec(name="query", arguments=("select 1",))
MONDAY = "2026-03-09"


@dataclass
class Counting(FakeEngine):
    """Says how many rows lie under each key, two jobs and half a second a time; what is in ``failing`` fails."""

    rows: Mapping[str, int] = field(default_factory=dict)
    failing: Mapping[str, Failure] = field(default_factory=dict)
    asked: list[tuple[Part, tuple[str, ...]]] = field(default_factory=list)
    fingerprint_read: str | None = None

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        self.asked.append((part, tuple(item.spec.text for item in requests)))
        measured = {item.key: self._measured(item, part.keys or tuple(self.rows)) for item in requests}
        read_by = ReadBy(kernels=len(measured))
        return ScanReport(
            measured=measured, spark_jobs=2, seconds=0.5, fingerprint=self.fingerprint_read, read_by=read_by
        )

    def _measured(self, item: MeasurementRequest, keys: tuple[str, ...]) -> Measured:
        failure = next((self.failing[key] for key in keys if key in self.failing), None)
        if failure:
            return Measured(failure=failure)
        counts = {key: self.rows.get(key, 0) for key in keys}
        if item.spec.by:
            groups = {(None if key == HIVE_NULL else key,): float(count) for key, count in counts.items() if count}
            return Measured(state=GroupValues(columns=item.spec.by, groups=groups).to_bytes())  # type: ignore[arg-type]
        state = f"state of {item.spec.text}".encode() if item.keep_state and item.spec == KEYS else None
        return Measured(value=float(sum(counts.values())), state=state)


def table(location: Path | str = "/lake", storage: str = "sql", **more: Any) -> Table:
    return Table(
        **{"name": "raw.trips", "storage": storage, "location": str(location), "partition_column": "datestr", **more}
    )


def counted(
    engine: Counting, strays: Sequence[str] | None, *, of: Table | None = None, is_sensitive: bool = False
) -> tuple[Measured, int, float]:
    report = count_unpartitioned(engine, of or table(), strays, is_sensitive=is_sensitive)
    assert (list(report.measured), report.fingerprint) == (["rows"], None)
    return report.measured["rows"], report.spark_jobs, report.seconds


def test_what_read_the_rows_of_each_key_is_added_up() -> None:
    engine = Counting(rows={"a": 3, "b": 4})
    assert count_unpartitioned(engine, table(), ("a", "b")).read_by == ReadBy(kernels=2)
    assert count_unpartitioned(engine, table(), None).read_by == ReadBy(kernels=1)
    assert count_unpartitioned(engine, table(), ()).read_by == ReadBy()


def test_a_database_is_asked_key_by_key() -> None:
    engine = Counting(rows={"a": 3, "b": 4})
    measured, jobs, seconds = counted(engine, ("a", "b"))
    assert engine.asked == [(Part(keys=("a",)), ("row_count()",)), (Part(keys=("b",)), ("row_count()",))]
    assert (measured.value, jobs, seconds) == (7.0, 4, 1.0)
    assert measured.detail["note"] == "7 rows lie in no partition: 4 under datestr=b, 3 under datestr=a"


def test_the_hundred_and_first_key_and_those_behind_it_are_counted_together() -> None:
    keys = tuple(f"key {number:03}" for number in range(102))
    engine = Counting(rows=dict.fromkeys(keys, 1))
    measured, jobs, _ = counted(engine, keys)
    assert [len(part.keys or ()) for part, _ in engine.asked] == [1] * 100 + [2]
    assert (measured.value, jobs) == (102.0, 202)
    assert measured.detail["note"].endswith("82 under 82 other keys")
    assert len(measured.detail["keys"]) == 20
    engine.asked.clear()
    counted(engine, keys[:100])
    assert len(engine.asked) == 100


def test_files_without_footers_are_grouped_in_one_job() -> None:
    engine = Counting(rows={HIVE_NULL: 2, "b": 4})
    measured, jobs, seconds = counted(engine, (HIVE_NULL, "b"), of=table(storage="csv"))
    assert engine.asked == [(Part(keys=(HIVE_NULL, "b")), ("row_count() by datestr",))]
    assert (measured.value, jobs, seconds) == (6.0, 2, 0.5)
    assert measured.detail["keys"] == {"b": 4, HIVE_NULL: 2}
    assert counted(Counting(), ("b",), of=table(storage="csv"))[0].value == 0.0


def folder(root: Path, key: str = MONDAY) -> Path:
    """A partition's folder with a file in it."""
    made = root / f"datestr={key}"
    made.mkdir()
    (made / "part-0.parquet").write_bytes(b"")
    return made


def test_parquet_whose_keys_are_folders_is_counted_by_its_footers(tmp_path: Path) -> None:
    folder(tmp_path, "b")
    engine = Counting(rows={"b": 4})
    assert counted(engine, ("b",), of=table(tmp_path, "parquet"))[0].value == 4
    assert engine.asked == [(Part(keys=("b",)), ("row_count()",))]


def test_parquet_whose_key_is_a_column_is_grouped(tmp_path: Path) -> None:
    (tmp_path / "all.parquet").write_bytes(b"")
    engine = Counting(rows={"b": 4})
    assert counted(engine, ("b",), of=table(tmp_path, "parquet"))[0].value == 4
    assert engine.asked == [(Part(keys=("b",)), ("row_count() by datestr",))]


def test_files_that_cannot_be_listed_are_left_to_the_scan_to_tell(tmp_path: Path) -> None:
    engine = Counting(failing={"b": Failure(reason=Reason.UNREADABLE, detail="gone")})
    measured, *_ = counted(engine, ("b",), of=table(tmp_path / "gone", "parquet"))
    assert measured.failure == Failure(reason=Reason.UNREADABLE, detail="gone")
    assert len(engine.asked) == 1


def test_a_failure_of_one_key_is_that_of_all_and_the_work_is_counted() -> None:
    engine = Counting(rows={"a": 3}, failing={"b": Failure(reason=Reason.TIMEOUT, detail="late")})
    measured, jobs, seconds = counted(engine, ("a", "b"))
    assert (measured.value, measured.failure, jobs, seconds) == (None, engine.failing["b"], 4, 1.0)


def test_no_engine_is_asked_where_there_is_no_such_key() -> None:
    engine = Counting()
    assert counted(engine, ()) == (Measured(value=0.0), 0, 0.0)
    measured, *_ = counted(engine, ("a",), of=table(partition_column=None))
    said = "partition column is missing: raw.trips has no partition key; add one to it"
    assert (str(measured.failure), engine.asked) == (said, [])


@pytest.mark.parametrize("rows", [0, 5])
def test_of_a_table_whose_keys_nobody_knows_only_an_empty_one_has_no_such_rows(rows: int) -> None:
    engine = Counting(rows={"a": rows})
    measured, jobs, seconds = counted(engine, None)
    assert (engine.asked, jobs, seconds) == ([(WHOLE, ("row_count()",))], 2, 0.5)
    said = "the partitions of raw.trips cannot be listed by datestr: set its partition key to a column or folder that"
    if rows:
        assert measured.failure
        assert (measured.failure.reason, measured.failure.detail) == (Reason.NO_PARTITION_COLUMN, f"{said} it has")
    else:
        assert (measured.value, measured.failure) == (0.0, None)


def test_a_table_that_cannot_be_read_says_so_before_its_keys() -> None:
    gone = Failure(reason=Reason.UNREADABLE, detail="gone")
    assert counted(Counting(rows={"a": 1}, failing={"a": gone}), None)[0].failure == gone


WANTED = [
    MeasurementRequest(key="1", spec=KEYS),
    MeasurementRequest(key="2", spec=MEAN),
    MeasurementRequest(key="3", spec=QUERY),
]


def with_whole_test(dataset: Dataset) -> Dataset:
    DataTestFactory.create(dataset=dataset, scope=Scope.TABLE)
    return dataset


def repository(dataset: Dataset) -> dict[str, Any]:
    """Where its states are kept, if they are."""
    return {"dataset": dataset, "datacenter": "phx", "keeps": bool(keeping_states({dataset.pk}))}


def by_parts(
    engine: Counting, root: Path, wanted: Sequence[MeasurementRequest] = WANTED, dataset: Dataset | None = None
) -> ScanReport:
    kept = dataset or with_whole_test(DatasetFactory.create())
    return scan_by_parts(engine, table(root, "parquet"), Part(keys=(MONDAY,)), wanted, **repository(kept))


@pytest.mark.django_db
def test_one_partition_is_read_once_and_leaves_its_states(tmp_path: Path) -> None:
    folder(tmp_path)
    prints = read_fingerprints_by_key(table(tmp_path, "parquet"), Part(keys=(MONDAY,)))
    assert prints
    engine = Counting(rows={MONDAY: 9}, fingerprint_read=prints[MONDAY])
    report = by_parts(engine, tmp_path)
    assert (list(report.measured), report.spark_jobs, report.seconds) == (["1", "2", "3"], 2, 0.5)
    asked = ("count_distinct(id)", "mean(fare)", "query('select 1')", "count_distinct(id)", "mean(fare)")
    assert engine.asked == [(Part(keys=(MONDAY,)), asked)]
    (row,) = PartState.objects.all()  # the mean has left none
    assert (row.key, row.fingerprint, row.datacenter) == (MONDAY, prints[MONDAY], "phx")
    assert bytes(row.state or b"") == b"state of count_distinct(id)"


@pytest.mark.django_db
def test_a_partition_that_was_rewritten_meanwhile_leaves_none(tmp_path: Path) -> None:
    folder(tmp_path)
    report = by_parts(Counting(rows={MONDAY: 9}, fingerprint_read="another"), tmp_path)
    assert (list(report.measured), PartState.objects.count()) == (["1", "2", "3"], 0)


@pytest.mark.django_db
@pytest.mark.parametrize("case", ["no test of the whole", "nothing merges", "no folder", "files lie outside"])
def test_elsewhere_a_partition_is_read_as_it_is(tmp_path: Path, case: str) -> None:
    engine = Counting(rows={MONDAY: 9})
    dataset = DatasetFactory.create() if case == "no test of the whole" else with_whole_test(DatasetFactory.create())
    wanted = WANTED[2:] if case == "nothing merges" else WANTED
    if case == "files lie outside":
        (tmp_path / "all.parquet").write_bytes(b"")
    elif case != "no folder":
        folder(tmp_path)
    root = tmp_path / "gone" if case == "no folder" else tmp_path
    report = by_parts(engine, root, wanted, dataset)
    assert engine.asked == [(Part(keys=(MONDAY,)), tuple(item.spec.text for item in wanted))]
    assert (list(report.measured), PartState.objects.count()) == ([item.key for item in wanted], 0)


@pytest.mark.django_db
def test_a_large_state_lies_in_the_store_and_is_known_no_more_once_it_is_gone(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(config(), "state_store", str(tmp_path))
    states = PartStates(dataset=DatasetFactory.create(), datacenter="sea")
    small, large = b"s" * INLINE_BYTES, b"l" * (INLINE_BYTES + 1)
    prints = {MONDAY: "f", "2026-03-10": "g"}
    states.save_parts(prints, {KEYS: {MONDAY: small, "2026-03-10": large}})
    inline, stored = PartState.objects.order_by("key")
    assert (bytes(inline.state or b"") == small, inline.state_path) == (True, "")
    assert (stored.state, stored.state_length, stored.state_path != "") == (None, len(large), True)
    assert states.parts([KEYS], prints) == {KEYS: {MONDAY: small, "2026-03-10": large}}
    states.save_rollups(prints, [(KEYS, large)])
    (union,) = states.rollups([KEYS])[KEYS]
    assert (union.prints, union.load() == large) == (prints, True)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.unlink()
    assert states.parts([KEYS], prints) == {KEYS: {MONDAY: small}}
    with pytest.raises(UnableToReadState, match=r"^the state ../[0-9a-f]{64} is gone$"):
        union.load()


@pytest.mark.django_db
def test_states_are_of_the_instant_at_which_they_are_kept(monkeypatch: Patch) -> None:
    monkeypatch.setattr("execution_engine.parts.part_states.now", lambda: NOW)
    states = PartStates(dataset=DatasetFactory.create(), datacenter="sea")
    for _ in range(2):
        states.save_rollups({"b": "2", "a": "1"}, [(KEYS, b"u")])
        states.save_rollups({"a": "1", "b": "2"}, [(KEYS, b"u")])  # the same partitions in another order
    (row,) = PartState.objects.all()
    assert (row.key, row.kept_at, row.prints) == ("", NOW, {"a": "1", "b": "2"})


@pytest.mark.django_db
def test_what_cannot_be_merged_is_read_over_all_partitions_together(tmp_path: Path) -> None:
    keys = (MONDAY, "2026-03-10")
    for key in keys:
        folder(tmp_path, key)
    dataset = with_whole_test(DatasetFactory.create())
    engine, part = Counting(rows=dict.fromkeys(keys, 9)), Part(keys=keys)
    report = scan_by_parts(engine, table(tmp_path, "parquet"), part, WANTED[1:], **repository(dataset))
    assert engine.asked[-1] == (part, ("mean(fare)", "query('select 1')"))
    assert {key: each.value for key, each in report.measured.items()} == {"2": 18.0, "3": 18.0}
    assert report.spark_jobs == 2 * len(engine.asked)
    assert report.read_by == ReadBy(kernels=sum(len(texts) for _, texts in engine.asked))
    assert report.seconds >= 0.5
