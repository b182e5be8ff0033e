"""Metrics that compare the rows with those of another dataset, ``referential_integrity accuracy``.

The other dataset is named by a text behind the columns, and read as a whole: ``dataset=`` says of which dataset a
metric is taken.
"""

from execution_engine.metrics.definition import (
    LAKE,
    ArgumentType,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.expressions import listed
from execution_engine.metrics.spec import MetricSpec


def names_in(spec: MetricSpec, option: str) -> tuple[str, ...]:
    """The columns that an option names, apart by commas; none where it is not given."""
    return listed(str(spec.option(option, "")))


def there(spec: MetricSpec) -> tuple[str, ...]:
    """The columns of the other dataset that a foreign key points to; those of the same names where none are said."""
    return names_in(spec, "to") or spec.columns


REFERENTIAL_INTEGRITY = MetricDefinition(
    signature=Signature(
        name="referential_integrity",
        min_columns=1,
        max_columns=None,
        arguments=(ArgumentType.DATASET,),
        options={"to": ArgumentType.TEXT},
    ),
    kind=MetricKind.COMPOUND,
    formula="|{d ∈ D : d(columns) ∈ D'(to)}| / |{d ∈ D : d(columns) ≠ null}|, D' the other dataset",
    source="SQL's FOREIGN KEY, MATCH SIMPLE; Deequ's ReferentialIntegrity",
    meaning="the share of keys that the other dataset has",
    phrase=MetricPhrase(
        noun=text_noop("the share of %(columns)s that %(literal)s has"),
        fault=(
            text_noop("%(share)s of %(columns)s were missing in %(literal)s"),
            text_noop("%(share)s of %(columns)s are missing in %(literal)s"),
        ),
    ),
    dimension=Dimension.CONSISTENCY,
    problem=lambda spec: (
        None
        if len(there(spec)) == len(spec.columns)
        else f"to= names {len(there(spec))} columns for {len(spec.columns)}; name one for each, in their order"
    ),
    taken_by={LAKE: "execution_engine.engines.spark.measures.joins:find_references"},
)
ACCURACY = MetricDefinition(
    signature=Signature(
        name="accuracy",
        min_columns=1,
        max_columns=None,
        arguments=(ArgumentType.DATASET,),
        options={"on": ArgumentType.TEXT},
    ),
    kind=MetricKind.COMPOUND,
    formula="|{d ∈ D : d' ∈ D' of d's key has d'(columns) = d(columns), null being equal to null}| / N; no key twice",
    source="Apache Griffin: accuracy; Deequ's DataSynchronization",
    meaning="the share of rows that are the same in the other dataset",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows with the same %(columns)s in %(literal)s"),
        fault=(
            text_noop("%(share)s of the rows had another %(columns)s than %(literal)s"),
            text_noop("%(share)s of the rows have another %(columns)s than %(literal)s"),
        ),
    ),
    dimension=Dimension.CONSISTENCY,
    problem=lambda spec: (
        None if names_in(spec, "on") else "say by which columns records belong together, such as on='id'"
    ),
    taken_by={LAKE: "execution_engine.engines.spark.measures.joins:compare_records"},
)
