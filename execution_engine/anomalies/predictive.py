"""The interval in which the next of a few values lies, with a stated rate of false alarms (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .strategies import Interval, check_learning


@dataclass(frozen=True, kw_only=True)
class Predictive:
    """The next value lies where all but the share ``alarms`` of values like the earlier ones would.

    The prediction interval of normal values: mean ± t · s · √(1 + 1 / n), t of Student's distribution with n - 1
    degrees of freedom, s the deviation of a sample. So 8 values are enough, and the interval is honest: it is wide
    while few are known.

    Parameters:
        alarms: the share of right values that it takes for anomalies, above 0 and below 1.
        min_values: how many earlier values it waits for, a whole number from 2 on.

    Errors:
        ValueError: ``alarms`` is no share above 0 and below 1, or ``min_values`` is no whole number from 2 on.

    Example:
        >>> low, high = Predictive(alarms=0.05).expected([9, 10, 11, 10, 9, 10, 11, 10])
        >>> round(low, 2), round(high, 2)
        (8.1, 11.9)
    """

    alarms: float = 0.002
    min_values: int = 8

    def __post_init__(self) -> None:
        check_learning(self)

    @property
    def needed(self) -> int:
        """``min_values``."""
        return self.min_values

    def expected(self, earlier: Sequence[float]) -> Interval:
        """The prediction interval.

        Example:
            >>> Predictive(min_values=2).expected([5.0, 5.0, 5.0])
            (5.0, 5.0)
        """
        from scipy.stats import t  # a third of a second, which who asks for no anomaly need not wait

        count, mean, deviation = len(earlier), float(np.mean(earlier)), float(np.std(earlier, ddof=1))
        reach = float(t.ppf(1 - self.alarms / 2, count - 1)) * deviation * sqrt(1 + 1 / count)
        return mean - reach, mean + reach
