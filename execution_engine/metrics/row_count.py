"""``row_count()``: the number of rows. Deequ: Size."""

from .definition import Kind, MetricDefinition
from .signature import Signature
from .statistics import ROWS

ROW_COUNT = MetricDefinition(
    signature=Signature(name="row_count"),
    kind=Kind.AGGREGATE,
    formula="N",
    source="Schelter et al. 2018, Table 2: Size",
    statistics=lambda spec, write: {"rows": ROWS},
    value=lambda spec, found: float(found["rows"]),
)
