"""``compliance("condition")``: rows that meet the condition / rows; a NULL condition is not met. Deequ: Compliance."""

from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, Signature

from .shares import share_of_rows

COMPLIANCE = share_of_rows(
    Signature(name="compliance", arguments=(ArgumentType.SQL,)),
    met=lambda spec, write: write.condition(str(spec.arguments[0])),
    formula="|{d ∈ D : p(d)}| / N",
    source="Schelter et al. 2018, Table 2: Compliance",
    meaning="the share of rows that meet the condition",
    dimension=Dimension.VALIDITY,
)
