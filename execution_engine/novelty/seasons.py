"""Like with like: what its weekday usually adds to each statistic of a batch.

A weekday is a random effect of a statistic (Searle, Casella and McCulloch, *Variance Components*, 1992): how far the
means of weekdays are apart beyond chance says how much of a weekday's own mean is believed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from execution_engine.profiles.values import Floats

from .days import SUNDAY, WEEKDAYS, Day, RareDay

Flags = npt.NDArray[np.bool_]

FEWEST_LIKE = 3  # batches of a weekday, or rare days of a kind, that another one is compared with
WORTH = 0.5  # of a statistic's variance that may be left once weekdays are taken off


@dataclass(frozen=True, kw_only=True, eq=False)
class Seasons:
    """What is known of weekdays in T batches: ``history`` (T, …) is taken off each of them, ``effects`` (7, …) off a
    new one. ``seasonal`` (7, …): of which weekday a statistic is compared with its like; both are 0 elsewhere.
    """

    history: Floats
    effects: Floats
    seasonal: Flags

    def of(self, day: Day | None) -> Floats:
        """What is taken off a new batch of this day."""
        return np.zeros(self.effects.shape[1:]) if day is None else np.asarray(self.effects[day.weekday])

    def is_seasonal(self, day: Day | None) -> Flags:
        """Which statistics of a batch of this day are compared with its like."""
        return np.zeros(self.seasonal.shape[1:], np.bool_) if day is None else np.asarray(self.seasonal[day.weekday])


def seasons_of(scaled: Floats, days: Sequence[Day | None]) -> Seasons:
    """From the statistics of T batches (T, …) and their days; a batch without a day has no part in it.

    What is taken off a batch of history is found without it, as for a batch that is still to come. A public holiday
    teaches nothing of its weekday. It may itself be as on a Sunday: what leaves less is taken off it.
    """
    shape = scaled.shape[1:]
    own = np.array([[is_usual(day, at) for at in range(len(WEEKDAYS))] for day in days], np.float64)
    if not own.any():
        nothing = np.zeros((len(WEEKDAYS), *shape))
        return Seasons(history=np.zeros((1,) * scaled.ndim), effects=nothing, seasonal=nothing > 0)
    flat = scaled.reshape(len(scaled), -1)
    has_value = ~np.isnan(flat) & (own.sum(axis=1)[:, None] > 0)
    filled = np.where(has_value, flat, 0.0)
    count, total = own.T @ has_value, own.T @ filled
    with np.errstate(all="ignore"):
        all_count, all_total = count.sum(axis=0), total.sum(axis=0)
        # between weekdays and within them: the unbiased estimates of a one-way analysis of variance
        weekdays, means, mean = (
            (count > 0).sum(axis=0),
            total / np.maximum(count, 1),
            all_total / np.maximum(all_count, 1),
        )
        squares = np.where(has_value, (filled - own @ means) ** 2, 0.0)
        within = squares.sum(axis=0) / np.maximum(all_count - weekdays, 1)
        apart = (count * (means - mean) ** 2).sum(axis=0) / np.maximum(weekdays - 1, 1)
        size = (all_count - (count**2).sum(axis=0) / np.maximum(all_count, 1)) / np.maximum(weekdays - 1, 1)
        is_estimated = (weekdays > 1) & (all_count > weekdays)
        between = np.nan_to_num(np.where(is_estimated, np.maximum(apart - within, 0.0) / size, 0.0))
        effects = _effect(total, count, all_total, all_count, between, within)
        effects = np.where(count >= FEWEST_LIKE, effects, 0.0)
        others = (own @ count) - 1
        left_out = _effect((own @ total) - filled, others, all_total - filled, all_count - 1, between, within)
        left_out = np.where(has_value & (others >= FEWEST_LIKE - 1), left_out, 0.0)
        errors = filled - (all_total - filled) / (all_count - 1)
        left, raw = (np.where(has_value, residuals**2, 0.0).sum(axis=0) for residuals in (errors - left_out, errors))
        better = left < WORTH * raw
        for place, day in enumerate(days):
            if day is not None and day.rare is RareDay.HOLIDAY:
                off, as_usual, as_sunday = flat[place] - all_total / all_count, effects[day.weekday], effects[SUNDAY]
                left_out[place] = np.where(abs(off - as_sunday) < abs(off - as_usual), as_sunday, as_usual)
    return Seasons(
        history=np.where(better, left_out, 0.0).reshape(scaled.shape),
        effects=np.where(better, effects, 0.0).reshape(len(WEEKDAYS), *shape),
        seasonal=(better & (effects != 0)).reshape(len(WEEKDAYS), *shape),
    )


def is_usual(day: Day | None, weekday: int) -> bool:
    """Whether a day is an ordinary one of this weekday, and no holiday."""
    return day is not None and day.weekday == weekday and day.rare is not RareDay.HOLIDAY


def _effect(
    total: Floats, count: Floats, all_total: Floats, all_count: Floats, between: Floats, within: Floats
) -> Floats:
    """How far the mean of a weekday is from that of all, as much of it as is believed."""
    belief = np.where(between > 0, between / (between + within / count), 0.0)
    return np.nan_to_num(belief * (total / count - all_total / all_count))
