"""``histogram(column)``: how many different values there are, the most frequent in the detail with their ratios.

``bins=20`` cuts the numbers of a column into as many bins of one width instead. Deequ: Histogram.
"""

from execution_engine.metrics.definition import LAKE, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, Signature
from execution_engine.metrics.spec import MetricSpec

MOST_VALUES = 1000  # Deequ's default of maxDetailBins


def bins_of(spec: MetricSpec) -> int | None:
    """Into how many bins numbers are cut; None where each value is one."""
    said = spec.option("bins")
    return None if said is None else int(said)


def _problem(spec: MetricSpec) -> str | None:
    bins = spec.option("bins")
    if bins is None or (isinstance(bins, int) and 1 <= bins <= MOST_VALUES):
        return None
    return f"bins= is a whole number from 1 to {MOST_VALUES}, not {bins}"


HISTOGRAM = MetricDefinition(
    signature=Signature(name="histogram", min_columns=1, max_columns=1, options={"bins": ArgumentType.NUMBER}),
    kind=Kind.COMPOUND,
    tells_values=True,
    formula=f"|V|, null being a value; its detail: c(v) and c(v) / N of the {MOST_VALUES:,} most frequent, or of bins",
    source="Schelter et al. 2018, Table 2: Histogram",
    meaning="how many different values there are, with how often each occurs",
    dimension=Dimension.ACCURACY,
    problem=_problem,
    taken_by={LAKE: "execution_engine.engines.spark.measures.histogram:take_histogram"},
)
