"""Messages between the platform and its Spark child."""

import os
import pickle
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from execution_engine.engines.child import wire
from execution_engine.engines.child.wire import UnableToSend, packed, unpacked_data
from execution_engine.engines.protocol import WHOLE, FailingRow, FailingRows, Measured, ScanReport, Table, Wanted
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import Kind, Left, ReadBy

TABLE = Table(name="raw.trips", storage="parquet", location="/lake", options={"a": "b"}, columns={"id": "bigint"})
SPEC = MetricSpec(name="quantile", columns=("fare",), arguments=(1, 1.0, True, "1"), options=(("min", 3),), where="a")
WANTED = [Wanted(key="1", spec=SPEC, inputs={"sample": b"\x00\xff"}, tables={"t": TABLE})]
REPORT = ScanReport(
    measured={
        "1": Measured(value=float("inf"), state=b"\x00" * 9, detail={"lost": [{"id": "é\ud800"}]}),
        "2": Measured(failure=Failure(reason=Reason.TIMEOUT, detail="late")),
        "3": Measured(value=Decimal("0.1")),
    },
    spark_jobs=1,
    seconds=0.5,
    fingerprint=None,
    read_by=ReadBy(footers=1, kernels=2, left=(Left(kind=Kind.ROWS, why="é is no UTF-8", values=3),)),
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
    assert pickle.loads(packed(message)) == message


@pytest.mark.parametrize("result", [REPORT, (REPORT, REPORT), ROWS, ("2026-03-09",), None], ids=str)
def test_an_answer_arrives_whole(result: Any) -> None:
    assert unpacked_data(packed(("result", 7, result))) == ("result", 7, result)


def test_numbers_and_bytes_arrive_as_what_they_hold() -> None:
    measured = Measured(value=np.float64(0.5), state=memoryview(b"ab"), detail=MappingProxyType({"a": 1}))  # type: ignore[arg-type]
    _, _, found = unpacked_data(packed(("result", 1, measured)))
    assert found == Measured(value=0.5, state=b"ab", detail={"a": 1})
    assert (type(found.value), type(found.state), type(found.detail)) == (float, bytes, dict)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(("result", 1, Call())),
        pickle.dumps(("result", 1, TABLE)),
        pickle.dumps(("result", 1, np.int64(1))),
        pickle.dumps("java"),
        b"Spark says hello",
        b"",
    ],
)
def test_nothing_but_data_is_taken_from_a_child(content: bytes) -> None:
    with pytest.raises(Exception, match=r"."):
        unpacked_data(content)


def test_what_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 100)
    with pytest.raises(UnableToSend, match=r"^a message of \d+ bytes; at most 100 are allowed$"):
        packed(("call", 1, "a" * 100))
