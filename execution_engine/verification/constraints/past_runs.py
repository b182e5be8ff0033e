"""The past of a history without a catalog: its windows are the earlier runs that measured the metric (pure)."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from assay.steps import Step, UnableToStep, shift
from execution_engine.exact import Number
from execution_engine.language.tree import History, HistoryFunction

from .constraints import Past

_UTC = ZoneInfo("UTC")


def past_values(history: History, past: Past) -> list[Number]:
    """The values a history is over, the oldest first; with ``every`` those of the very instants, stepped in UTC."""
    is_lag = history.function is HistoryFunction.LAG
    if history.every is None:
        values = [value for _, value in past.series][-history.last :]
        return values if not is_lag else values[:1] if len(values) == history.last else []
    counts = [history.last] if is_lag else range(history.last, 0, -1)
    known, step = dict(past.series), -Step.parse(history.every)
    instants = _existing(past.at, [replace(step, amount=step.amount * count) for count in counts])
    return [known[instant] for instant in instants if instant in known]


def _existing(at: datetime, steps: list[Step]) -> Iterator[datetime]:
    """The instants the steps lead to, without those before the year 1."""
    for step in steps:
        try:
            yield shift(at, step, _UTC)
        except UnableToStep:
            continue
