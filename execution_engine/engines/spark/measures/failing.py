"""Samples of the rows that break metrics: those that a row-wise metric counts out, and those whose key is repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from execution_engine.engines.column_types import quote
from execution_engine.engines.gathering import Keyed, condition_of
from execution_engine.engines.protocol import FailingRow, FailingRows
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, action, failure_of
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.engines.spec_check import check_spec, settled
from execution_engine.metrics.definition import Keys
from execution_engine.metrics.registry import METRICS
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
    meant = {settled(spec, source.columns): spec.text for spec in specs}
    wrong: dict[str, Failure] = {}
    for spec in meant:
        if (failure := check_spec(spec, source.kinds, source.name, engine="spark")) is not None:
            wrong[spec.text] = failure
        elif not METRICS[spec.name].is_of_rows:
            detail = f"{spec.text} is of all rows together: no single row breaks it"
            wrong[spec.text] = Failure(reason=Reason.INVALID, detail=detail)
    sound = [spec for spec in meant if spec.text not in wrong and source.rows != 0]
    outcomes = _repeated(source, [spec for spec in sound if METRICS[spec.name].repeats_break])
    wrong |= {text: outcome for text, outcome in outcomes.items() if isinstance(outcome, Failure)}
    conditions = {text: outcome for text, outcome in outcomes.items() if isinstance(outcome, str)}
    for spec in sound:
        if not METRICS[spec.name].repeats_break:
            breaks = METRICS[spec.name].breaks
            assert breaks is not None
            conditions[spec.text] = _with_where(source, spec, breaks(spec, source.write))
    result = _isolated(source, conditions, max(0, min(limit, MOST_ROWS)), wrong)
    texts = {spec.text: text for spec, text in meant.items()}  # as they were asked for
    rows = tuple(replace(row, breaks=tuple(texts[text] for text in row.breaks)) for row in result.rows)
    return replace(result, rows=rows, failures={texts[text]: failure for text, failure in result.failures.items()})


def _repeated(source: SparkSource, specs: Sequence[MetricSpec]) -> dict[str, str | Failure]:
    """For each, the condition that a row's key is among those found more than once."""
    keyed = {}
    for spec in specs:
        groupings = METRICS[spec.name].groupings
        assert groupings is not None
        keyed[spec] = Keyed(grouping=groupings(spec)[0], where=condition_of(spec, source.write))
    counted = pulled(source, list(dict.fromkeys(keyed.values()))) if keyed else {}
    outcomes: dict[str, str | Failure] = {}
    for spec, grouping in keyed.items():
        match counted[grouping]:
            case Failure() as failure:
                outcomes[spec.text] = failure
            case Frequencies(whole=whole, with_nulls=with_nulls):
                keys = [*whole.repeated, *(with_nulls.repeated if METRICS[spec.name].counts is Keys.ALL else ())]
                key_list = ", ".join(str(int(key)) for key in keys[:MOST_KEYS]) or "null"
                broken = f"{source.write.hash_of(spec.columns)} in ({key_list})"
                outcomes[spec.text] = _with_where(source, spec, broken)
            case _:
                why = "has too many rows to name those whose keys are repeated; ask for fewer partitions"
                outcomes[spec.text] = Failure(reason=Reason.INVALID, detail=f"{source.name} {why}")
    return outcomes


def _with_where(source: SparkSource, spec: MetricSpec, broken: str) -> str:
    where = condition_of(spec, source.write)
    return broken if where is None else f"{where} and ({broken})"


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
