"""``min_length max_length`` of a column of texts, in characters. Deequ: MinLength, MaxLength."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ColumnKind, Signature
from execution_engine.metrics.states.statistics import Gather, Statistic


def _length(name: str, gather: Gather, meaning: str) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.TEXT),
        kind=Kind.AGGREGATE,
        formula=f"{gather.value} |d(column)|, in characters",
        source=f"Deequ's {gather.value.title()}Length",
        meaning=meaning,
        dimension=Dimension.VALIDITY,
        statistics=lambda spec, write: {
            "length": Statistic(gather=gather, of=(f"char_length({write.column(spec.columns[0])})",))
        },
        value=lambda spec, found: None if found["length"] is None else float(found["length"]),
        plain_sql=False,
    )


MIN_LENGTH = _length("min_length", Gather.MIN, "the length of the shortest text")
MAX_LENGTH = _length("max_length", Gather.MAX, "the length of the longest text")
