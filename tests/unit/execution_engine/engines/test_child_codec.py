"""Calls of an engine and their answers as frames."""

from io import BytesIO
from typing import Any

import pytest

from execution_engine.engines.child.wire import (
    Frame,
    UnableToDecode,
    call_frame,
    call_of,
    methods,
    read_frame,
    result_frame,
    result_of,
    write_frame,
)
from execution_engine.engines.protocol import Measured, Part, ScanReport, Table, Wanted
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
        "3": Measured(),
    },
    spark_jobs=1,
    seconds=0.5,
    fingerprint=None,
    read_by=ReadBy(footers=1, kernels=2, left=(Left(kind=Kind.ROWS, why="é is no UTF-8", values=3),)),
)


def sent(frame: Frame) -> Frame:
    pipe = BytesIO()
    write_frame(pipe, frame)
    received = read_frame(BytesIO(pipe.getvalue()))
    assert received is not None
    return received


def test_a_call_is_understood_as_it_was_made() -> None:
    id_, method, arguments = call_of(sent(call_frame(7, "scan", (TABLE, Part(keys=("k",)), WANTED))))
    assert (id_, method) == (7, "scan")
    assert arguments == {"table": TABLE, "part": Part(keys=("k",)), "wanted": WANTED}
    assert [type(each) for each in arguments["wanted"][0].spec.arguments] == [int, float, bool, str]


def test_a_report_arrives_whole() -> None:
    assert result_of(sent(result_frame(7, REPORT)), "scan") == REPORT


@pytest.mark.parametrize("method", ["close", "fingerprint", "__init__", "nothing", None, 3])
def test_only_methods_of_the_protocol_are_called(method: Any) -> None:
    assert method not in methods()
    with pytest.raises(UnableToDecode):
        call_of(Frame(header={"id": 1, "method": method, "arguments": {}}))


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
    with pytest.raises(UnableToDecode):
        result_of(Frame(header={"id": 1, "result": result}), "scan")
