"""``repeated_keys(column, …)``: how many keys occur more than once. A toy: a grouping."""

from execution_engine.metrics.definition import Dimension, Grouping, MetricDefinition, MetricKind, Signature

REPEATED_KEYS = MetricDefinition(
    signature=Signature(name="repeated_keys", min_columns=1, max_columns=None),
    kind=MetricKind.GROUPING,
    formula="|{v ∈ V : c(v) > 1}|",
    source="a toy",
    meaning="how many keys are there more than once",
    dimension=Dimension.UNIQUENESS,
    groupings=lambda spec: (Grouping(columns=spec.columns),),
    from_summaries=lambda spec, of: float(of[0].distinct - of[0].single),
    repeats_break=True,
)
