from execution_engine.engines.child.wire import call_frame, call_of, methods, result_frame, result_of
from execution_engine.engines.protocol import WHOLE, FailingRow, FailingRows, Table
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

TABLE = Table(name="raw.trips", storage="parquet", location="/lake/trips")
SPECS = (
    MetricSpec(name="completeness", columns=("city",)),
    MetricSpec(name="uniqueness", columns=("id",), where="id>0"),
)
FOUND = FailingRows(
    columns=("id", "city"),
    rows=(FailingRow(values=("1", None), breaks=("completeness(city)",)),),
    failures={"uniqueness(id, where='id>0')": Failure(reason=Reason.QUERY_FAILED, detail="no")},
)


def test_a_child_is_asked_for_failing_rows() -> None:
    assert "failing_rows" in methods()
    _, method, arguments = call_of(call_frame(7, "failing_rows", (TABLE, WHOLE, SPECS, 20)))
    assert (method, arguments["limit"], tuple(arguments["specs"])) == ("failing_rows", 20, SPECS)


def test_failing_rows_travel_as_they_are() -> None:
    assert result_of(result_frame(7, FOUND), "failing_rows") == FOUND
