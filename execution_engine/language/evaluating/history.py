"""The functions over past windows: seed 003's moving means, medians and deviations."""

import statistics
from collections.abc import Callable, Sequence
from math import hypot, isfinite, sqrt

from execution_engine.exact import Number, number_of
from execution_engine.language.tree import History, HistoryFunction
from execution_engine.outcome import Failure, Reason


def deviation(values: Sequence[Number]) -> float:
    """The standard deviation of the population; exactly 0 for equal values.

    Not statistics.pstdev: its fractions take 13 ms for a thousand values of all magnitudes.
    """
    if min(values) == max(values):
        return 0.0
    mean = statistics.fmean(values)
    return hypot(*(float(value) - mean for value in values)) / sqrt(len(values))


# stddev is that of the population (numpy's ddof=0), as the metric of the same name is.
FUNCTIONS: dict[HistoryFunction, Callable[[Sequence[Number]], Number]] = {
    HistoryFunction.MEAN: statistics.fmean,
    HistoryFunction.MEDIAN: lambda values: statistics.median(map(float, values)),
    HistoryFunction.STDDEV: deviation,
    HistoryFunction.MIN: min,
    HistoryFunction.MAX: max,
    HistoryFunction.LAST: lambda values: values[-1],
    HistoryFunction.LAG: lambda values: values[-1],
}


def aggregate(history: History, values: Sequence[Number | None]) -> Number | Failure:
    """The function of the past values, newest last, without the missing ones; too few are ``warming up``.

    The values of ``lag`` are the one it asks for, or none.
    """
    known = [number_of(value) for value in values[-history.last :] if value is not None and isfinite(value)]
    if len(known) < max(1, history.needed):
        detail = f"{history.text} has {len(known)} of the {history.needed} past windows it needs; wait for more"
        return Failure(reason=Reason.WARMING_UP, detail=detail)
    try:
        return FUNCTIONS[history.function](known)
    except OverflowError:
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.text} is too large to be held")
