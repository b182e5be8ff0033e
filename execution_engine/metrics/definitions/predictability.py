"""``predictability(target, inputs…)``: how well the inputs tell the target, by a multinomial naive Bayes model.

Features are the words of each input column, a number being one word. The model learns from four fifths of the rows,
chosen by a hash of the row, and is scored on the rest; classes that only the rest has are scored too, as missed.
"""

from execution_engine.metrics.definition import LAKE, ArgumentType, Dimension, Kind, MetricDefinition, Signature
from execution_engine.metrics.spec import MetricSpec

SCORES = ("precision", "recall", "f1")
AVERAGES = ("macro", "weighted")


def _problem(spec: MetricSpec) -> str | None:
    for option, known in (("score", SCORES), ("average", AVERAGES)):
        if spec.option(option, known[0]) not in known:
            return f"{option}= is one of {', '.join(known)}, not {spec.option(option)}"
    return None


PREDICTABILITY = MetricDefinition(
    signature=Signature(
        name="predictability",
        min_columns=2,
        max_columns=None,
        options={"score": ArgumentType.TEXT, "average": ArgumentType.TEXT},
    ),
    kind=Kind.COMPOUND,
    formula="precision, recall or F1 of argmax_k ln p(k) + Σ f_i ln ((N_ki + 1) / (N_k + |words|)) on a held-out fifth",
    source="Schelter et al. 2018, Table 1: hasPredictability; Table 2: Predictability",
    meaning="how well the other columns predict the first",
    dimension=Dimension.ACCURACY,
    problem=_problem,
    taken_by={LAKE: "execution_engine.engines.spark.measures.query:predict"},
)
