"""Samples of the rows that break metrics: those that a row-wise metric counts out, and those whose key is repeated."""

from collections.abc import Mapping, Sequence

from execution_engine.engines.column_types import quote
from execution_engine.engines.protocol import FailingRow, FailingRows
from execution_engine.engines.row_rules import RowRule, row_rules
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, action, failure_of
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.outcome import Failure, Reason

from .frequencies import pulled

MOST_ROWS = 1000
MOST_KEYS = 1000  # whose rows are looked for
MOST_CHARACTERS = 1000  # of a value

Conditions = Mapping[str, str]  # by the text of a metric, the SQL condition that a row breaks it


def failing_rows(source: SparkSource, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
    """Up to ``limit`` rows, and never more than 1,000, each with the texts of all that it breaks; in one job.

    Keys that are repeated are found first, all of them by one job more.
    """
    rules, wrong = row_rules(specs, source.columns, source.kinds, source.name, source.write)
    sound = [rule for rule in rules if source.rows != 0]
    outcomes = _repeated(source, [rule for rule in sound if rule.repeated is not None])
    wrong |= {text: outcome for text, outcome in outcomes.items() if isinstance(outcome, Failure)}
    conditions = {text: outcome for text, outcome in outcomes.items() if isinstance(outcome, str)}
    conditions |= {rule.text: rule.condition for rule in sound if rule.repeated is None}
    return _isolated(source, conditions, max(0, min(limit, MOST_ROWS)), wrong)


def _repeated(source: SparkSource, rules: Sequence[RowRule]) -> dict[str, str | Failure]:
    """For each, the condition that a row's key is among those found more than once."""
    counted = pulled(source, list(dict.fromkeys(rule.repeated for rule in rules if rule.repeated))) if rules else {}
    outcomes: dict[str, str | Failure] = {}
    for rule in rules:
        assert rule.repeated is not None
        match counted[rule.repeated]:
            case Failure() as failure:
                outcomes[rule.text] = failure
            case Frequencies(whole=whole, with_nulls=with_nulls):
                keys = [*whole.repeated, *(with_nulls.repeated if rule.nulls else ())]
                key_list = ", ".join(str(int(key)) for key in keys[:MOST_KEYS]) or "null"
                broken = f"{source.write.hash_of(rule.repeated.grouping.columns)} in ({key_list})"
                outcomes[rule.text] = f"{rule.where} and ({broken})" if rule.where else broken
            case _:
                why = "has too many rows to name those whose keys are repeated; ask for fewer partitions"
                outcomes[rule.text] = Failure(reason=Reason.INVALID, detail=f"{source.name} {why}")
    return outcomes


def _isolated(source: SparkSource, conditions: Conditions, limit: int, wrong: Mapping[str, Failure]) -> FailingRows:
    """All in one job; if it fails, without those that fail by themselves."""
    columns, texts = tuple(source.frame.columns), list(conditions)
    if not conditions:
        return FailingRows(columns=columns, failures=wrong)
    flags = ", ".join(f"case when {condition} then {at} end" for at, condition in enumerate(conditions.values()))
    values = [
        f"substring(cast({quote(name)} as string), 1, {MOST_CHARACTERS}) as c{at}" for at, name in enumerate(columns)
    ]
    try:
        frame = source.frame.selectExpr(*values, f"filter(array({flags}), flag -> flag is not null) as broken")
        results = action(frame.where("size(broken) > 0").limit(limit).collect, rows=source.rows)
        rows = tuple(
            FailingRow(values=tuple(row[:-1]), breaks=tuple(texts[at] for at in row[len(columns)])) for row in results
        )
        return FailingRows(columns=columns, rows=rows, failures=wrong)
    except SPARK_ERRORS as error:
        failure = failure_of(error, source.name)
        if len(conditions) == 1 or failure.reason in OF_ALL:
            return FailingRows(columns=columns, failures={**wrong, **dict.fromkeys(conditions, failure)})
    alone = {text: _isolated(source, {text: condition}, limit, {}).failures for text, condition in conditions.items()}
    sound = {text: condition for text, condition in conditions.items() if not alone[text]}
    return _isolated(
        source, sound, limit, {**wrong, **{k: v for failures in alone.values() for k, v in failures.items()}}
    )
