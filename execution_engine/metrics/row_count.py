"""``row_count()``: the number of rows. Deequ: Size."""

from .definition import Expressions, Kind, MetricDefinition
from .signature import Signature
from .spec import MetricSpec


def _sql(spec: MetricSpec, write: Expressions) -> str:
    return write.rows()


ROW_COUNT = MetricDefinition(signature=Signature(name="row_count"), kind=Kind.AGGREGATE, sql=_sql)
