"""``completeness(column)``: rows whose value is not null / rows. Deequ: Completeness."""

from .definition import Expressions, Kind, MetricDefinition
from .signature import Signature
from .spec import MetricSpec


def _sql(spec: MetricSpec, write: Expressions) -> str:
    return write.share(write.column(spec.columns[0]))


COMPLETENESS = MetricDefinition(
    signature=Signature(name="completeness", min_columns=1, max_columns=1), kind=Kind.AGGREGATE, sql=_sql
)
