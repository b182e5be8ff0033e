"""Which rows break a metric: a condition that a row meets, or a key that other rows have too (pure)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from execution_engine.guard import UnableToAllow
from execution_engine.metrics.definition import Keys
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .gathering import Keyed, condition_of
from .spec_check import Kinds, check_spec, conditions_of, settled


@dataclass(frozen=True, kw_only=True)
class RowRule:
    """How rows break one metric: ``text`` as it was asked for.

    ``condition``: the SQL that such a row meets; empty where rows break it whose key is ``repeated``. Then ``where`` is
    the SQL of the rows that count, and with ``nulls`` a null in the key is a value like any other.
    """

    text: str
    condition: str = ""
    repeated: Keyed | None = None
    where: str | None = None
    nulls: bool = False


def row_rules(
    specs: Sequence[MetricSpec],
    columns: Collection[str],
    kinds: Kinds,
    name: str,
    write: Expressions,
    *,
    engine: str = "spark",
) -> tuple[list[RowRule], dict[str, Failure]]:
    """The rules of those metrics that single rows break, and by their texts why the others have none."""
    rules: list[RowRule] = []
    failures: dict[str, Failure] = {}
    for spec in dict.fromkeys(specs):
        own = settled(spec, columns)
        definition = METRICS.get(spec.name)
        try:
            failure = check_spec(own, kinds, name, engine=engine)
            for text in () if failure else conditions_of(own):
                write.condition(text)
        except UnableToAllow as error:
            failure = error.failure
        if failure is not None:
            failures[spec.text] = failure
        elif definition is None or not definition.is_of_rows:
            detail = f"{spec.text} is of all rows together: no single row breaks it"
            failures[spec.text] = Failure(reason=Reason.INVALID, detail=detail)
        elif definition.repeats_break:
            rules.append(_of_repeated(spec.text, own, write))
        else:
            assert definition.breaks is not None
            where, broken = condition_of(own, write), definition.breaks(own, write)
            rules.append(RowRule(text=spec.text, condition=f"{where} and ({broken})" if where else broken))
    return rules, failures


def _of_repeated(text: str, spec: MetricSpec, write: Expressions) -> RowRule:
    groupings = METRICS[spec.name].groupings
    assert groupings is not None
    where = condition_of(spec, write)
    keyed = Keyed(grouping=groupings(spec)[0], where=where)
    return RowRule(text=text, repeated=keyed, where=where, nulls=METRICS[spec.name].counts is Keys.ALL)
