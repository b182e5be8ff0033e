"""Samples of the rows that break metrics, picked by the database in one statement."""

from collections.abc import Sequence

from sqlalchemy import or_, select
from sqlalchemy.exc import SQLAlchemyError

from execution_engine.engines.protocol import FailingRow, FailingRows
from execution_engine.engines.row_rules import RowRule, row_rules
from execution_engine.metrics.expressions import written
from execution_engine.metrics.keys.key_text import as_text
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .failures import failure_of
from .source import SqlSource

MOST_ROWS = 1000
MOST_CHARACTERS = 1000  # of a value


def failing_rows(source: SqlSource, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
    """Up to ``limit`` rows, and never more than 1,000, each with the texts of all that it breaks."""
    rules, wrong = row_rules(specs, source.columns, source.columns, source.name, source.write, engine="sql")
    return _sample(source, rules, max(0, min(limit, MOST_ROWS)), wrong)


def _sample(source: SqlSource, rules: Sequence[RowRule], limit: int, wrong: dict[str, Failure]) -> FailingRows:
    """All in one statement; if it fails, without those that fail by themselves."""
    columns = tuple(source.types)
    if not rules:
        return FailingRows(columns=columns, failures=wrong)
    names = [source.quote(written(name)) for name in columns]
    flags = [f"case when {_broken(source, rule)} then 1 end" for rule in rules]
    all_rows = source.select([*names, *flags]).subquery()
    is_broken = list(all_rows.c)[len(names) :]
    try:
        with source.trial():
            statement = select(all_rows).where(or_(*(flag == 1 for flag in is_broken))).limit(limit)
            results = source.connection.execute(statement).all()
    except SQLAlchemyError as error:
        failure = failure_of(error, source.table)
        if len(rules) == 1 or failure.reason is Reason.ENGINE_UNREACHABLE:
            return FailingRows(columns=columns, failures=wrong | {rule.text: failure for rule in rules})
        alone = {rule.text: _sample(source, [rule], 1, {}).failures for rule in rules}
        sound = [rule for rule in rules if not alone[rule.text]]
        return _sample(source, sound, limit, wrong | {k: v for failures in alone.values() for k, v in failures.items()})
    width = len(names)
    rows = tuple(
        FailingRow(
            values=tuple(_text_of(value) for value in row[:width]),
            breaks=tuple(rule.text for rule, flag in zip(rules, row[width:], strict=True) if flag),
        )
        for row in results
    )
    return FailingRows(columns=columns, rows=rows, failures=wrong)


def _text_of(value: object) -> str | None:
    text = as_text(value)
    return None if text is None else text[:MOST_CHARACTERS]


def _broken(source: SqlSource, rule: RowRule) -> str:
    """The condition that a row breaks it; of a key that is repeated, by the number of rows that have it."""
    if rule.repeated is None:
        return rule.condition
    grouping, where = rule.repeated.grouping, rule.where or "1 = 1"
    keys = [source.quote(name) for name in grouping.columns]
    counted = ", ".join([*keys, f"case when {where} then 1 end"])
    joint = " or " if grouping.partial else " and "
    has_key = "1 = 1" if rule.nulls else f"({joint.join(f'{key} is not null' for key in keys)})"
    return f"({where}) and {has_key} and count(*) over (partition by {counted}) > 1"
