"""``satisfies_if("premise", "conclusion")``: of the rows that meet the first condition, those that meet the second."""

from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, Signature

from .shares import share_of_rows

SATISFIES_IF = share_of_rows(
    Signature(name="satisfies_if", arguments=(ArgumentType.SQL, ArgumentType.SQL)),
    among=lambda spec, write: write.condition(str(spec.arguments[0])),
    met=lambda spec, write: write.condition(str(spec.arguments[1])),
    formula="|{d ∈ D : p(d) ∧ q(d)}| / |{d ∈ D : p(d)}|",
    source="Schelter et al. 2018, Table 1: satisfiesIf",
    meaning="of the rows that meet the first condition, the share that meets the second",
    dimension=Dimension.VALIDITY,
)
