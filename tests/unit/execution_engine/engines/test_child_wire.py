"""Messages between the platform and its Spark child, and what the end of a child says."""

import os
import pickle
import sys
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from execution_engine.engines.child import wire
from execution_engine.engines.child.process import Death, child_environment, failure_of_death
from execution_engine.engines.child.wire import UnableToSend, check_result, read_answer, write_answer, write_call
from execution_engine.engines.protocol import (
    WHOLE,
    FailingRow,
    FailingRows,
    Measured,
    MeasurementRequest,
    ScanReport,
    Table,
    bytes_of,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import FallbackKind, Left, ReadBy

TABLE = Table(name="raw.trips", storage="parquet", location="/lake", options={"a": "b"}, columns={"id": "bigint"})
SPEC = MetricSpec(name="quantile", columns=("fare",), arguments=(1, 1.0, True, "1"), options=(("min", 3),), where="a")
WANTED = [MeasurementRequest(key="1", spec=SPEC, inputs={"sample": b"\x00\xff"}, tables={"t": TABLE})]
REPORT = ScanReport(
    measured={
        "1": Measured(value=float("inf"), state=b"\x00" * 9, detail={"lost": [{"id": "é\ud800"}]}),
        "2": Measured(failure=Failure(reason=Reason.TIMEOUT, detail="late")),
        "3": Measured(value=Decimal("0.1")),
    },
    spark_jobs=1,
    seconds=0.5,
    fingerprint=None,
    read_by=ReadBy(footers=1, kernels=2, left=(Left(kind=FallbackKind.ROWS, why="é is no UTF-8", values=3),)),
)
ROWS = FailingRows(
    columns=("id", "city"),
    rows=(FailingRow(values=("1", None), breaks=("completeness(city)",)),),
    failures={"uniqueness(id, where='id>0')": Failure(reason=Reason.QUERY_FAILED, detail="no")},
)


class Call:
    """What runs a command where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("id",)


def test_a_call_arrives_as_it_was_made() -> None:
    message = ("call", 7, ("scan", (TABLE, WHOLE, WANTED)))
    assert pickle.loads(write_call(message)) == message


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("scan", REPORT),
        ("scan_all", (REPORT, REPORT)),
        ("failing_rows", ROWS),
        ("partitions", ("2026-03-09",)),
        ("partitions", None),
    ],
    ids=str,
)
def test_an_answer_arrives_whole(method: str, result: Any) -> None:
    kind, number, data = read_answer(write_answer(("result", 7, result)))
    assert (kind, number, check_result(method, data)) == ("result", 7, result)


def test_numbers_and_bytes_arrive_as_what_they_hold() -> None:
    measured = Measured(value=np.float64(0.5), state=memoryview(b"ab"), detail=MappingProxyType({"a": 1}))  # type: ignore[arg-type]
    _, _, values = read_answer(write_answer(("result", 1, measured)))
    assert values == {"value": 0.5, "state": b"ab", "detail": {"a": 1}, "failure": None}
    assert [type(value) for value in values.values()] == [float, bytes, dict, type(None)]


@pytest.mark.parametrize(
    "result",
    [
        None,
        "os.system('id')",
        {"measured": {"1": {"value": "much"}}, "spark_jobs": 0, "seconds": 0, "fingerprint": None},
        {"measured": {"1": {"failure": {"reason": "because"}}}, "spark_jobs": 0, "seconds": 0, "fingerprint": None},
        {"measured": {}, "spark_jobs": 0},
        {"measured": {}, "spark_jobs": 0, "seconds": 0, "fingerprint": None, "read_by": {"left": [{"kind": "mine"}]}},
    ],
)
def test_an_answer_of_another_shape_is_refused(result: Any) -> None:
    with pytest.raises(ValidationError):
        check_result("scan", result)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (pickle.dumps(("result", 1, Call())), pickle.UnpicklingError),
        (pickle.dumps(("result", 1, TABLE)), pickle.UnpicklingError),
        (pickle.dumps(("result", 1, REPORT)), pickle.UnpicklingError),
        (pickle.dumps(("result", 1, np.int64(1))), pickle.UnpicklingError),
        (pickle.dumps("java"), ValueError),
        (b"Spark says hello", pickle.UnpicklingError),
        (b"", EOFError),
    ],
)
def test_nothing_but_data_is_taken_from_a_child(content: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_answer(content)


def test_what_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 100)
    with pytest.raises(UnableToSend, match=r"^a message of \d+ bytes; at most 100 are allowed$"):
        write_call(("call", 1, "a" * 100))


@pytest.mark.parametrize(
    ("death", "reason", "said"),
    [
        (Death(java=3, python=70), Reason.OUT_OF_MEMORY, "its memory of 2g"),
        (Death(java=-9, python=70, kernel_kills=1), Reason.OUT_OF_MEMORY, "the kernel killed"),
        (Death(python=-9, kernel_kills=2), Reason.OUT_OF_MEMORY, "the kernel killed"),
        (Death(python=-9, overflowed=True, ordered="full"), Reason.OUT_OF_MEMORY, "Python held more than 2g"),
        (Death(java=-9, python=70), Reason.CRASHED, "Java was killed by signal 9"),
        (Death(java=1, python=70), Reason.CRASHED, "Java ended with status 1"),
        (Death(python=-11, kernel_kills=1), Reason.CRASHED, "child was killed by signal 11"),
        (Death(python=-9, ordered="another hung"), Reason.ENGINE_UNREACHABLE, "restarted: another hung"),
        (Death(java=-15, python=70), Reason.ENGINE_UNREACHABLE, "Java was killed by signal 15"),
        (Death(), Reason.CRASHED, "went away"),
        (Death(java=1, python=70, was_ready=False), Reason.ENGINE_UNREACHABLE, "Java ended with status 1"),
        (Death(python=-9, kernel_kills=1, was_ready=False), Reason.ENGINE_UNREACHABLE, "the kernel killed"),
    ],
)
def test_a_death_is_told_by_what_caused_it(death: Death, reason: Reason, said: str) -> None:
    failure = failure_of_death(death, "2g")
    assert failure.reason is reason
    assert said in failure.detail


def test_a_child_sees_what_spark_needs_and_what_is_named() -> None:
    given = {"PATH": "/bin", "ASSAY_SECRET_KEY": "s", "DB_PASSWORD": "s", "AWS_PROFILE": "lake", "HOME": "/root"}
    seen = child_environment(given, ["AWS_PROFILE", "ABSENT"], Path("/scratch"))
    assert (seen["PATH"], seen["AWS_PROFILE"], seen["HOME"]) == ("/bin", "lake", "/scratch")
    assert not {"ASSAY_SECRET_KEY", "DB_PASSWORD", "ABSENT"} & set(seen)


def test_the_python_of_workers_is_this_one_unless_another_is_named() -> None:
    assert child_environment({}, [], Path("/scratch"))["PYSPARK_PYTHON"] == sys.executable
    named = child_environment({"PYSPARK_PYTHON": "/opt/python"}, [], Path("/scratch"))
    assert named["PYSPARK_PYTHON"] == "/opt/python"


def test_memory_is_written_as_java_writes_it() -> None:
    assert [bytes_of(size) for size in ("512m", "2g", "2G")] == [512 * 2**20, 2 * 2**30, 2 * 2**30]
    with pytest.raises(ValueError, match="512m or 2g"):
        bytes_of("2 GB")
