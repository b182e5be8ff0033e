"""``ratio_of(column, 'value')``: rows with that one value / rows. Deequ: the ratio of a bin of its Histogram."""

from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ArgumentType, Signature
from execution_engine.metrics.spec import MetricSpec

from .shares import share_of_rows


def _met(spec: MetricSpec, write: Expressions) -> str:
    """As text, so that one signature serves every type; the text is as ``histogram`` writes it."""
    return f"cast({write.column(spec.columns[0])} as string) = {write.text(str(spec.arguments[0]))}"


RATIO_OF = share_of_rows(
    Signature(name="ratio_of", min_columns=1, max_columns=1, arguments=(ArgumentType.TEXT,)),
    met=_met,
    formula="c(value) / N",
    source="Schelter et al. 2018, Table 1: hasHistogramValues, and Listing 1's ratio",
    meaning="the share of rows that have this value",
    dimension=Dimension.ACCURACY,
    plain_sql=False,
)
