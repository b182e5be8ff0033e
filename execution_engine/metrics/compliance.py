"""``compliance("condition")``: rows that meet the condition / rows; a NULL condition is not met. Deequ: Compliance."""

from .definition import Expressions, Kind, MetricDefinition
from .signature import ArgumentType, Signature
from .spec import MetricSpec


def _sql(spec: MetricSpec, write: Expressions) -> str:
    met = f"case when {write.condition(str(spec.arguments[0]))} then 1 end"
    return write.share(write.only(met))


COMPLIANCE = MetricDefinition(
    signature=Signature(name="compliance", arguments=(ArgumentType.SQL,)), kind=Kind.AGGREGATE, sql=_sql
)
