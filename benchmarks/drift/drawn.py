"""The rule alone: distances are drawn as sampling gives them, so a thousand days take seconds."""

from enum import StrEnum

import numpy as np

from execution_engine.novelty.days import LEARNING
from execution_engine.novelty.family import FamilyDistances, bound_of, standardised
from execution_engine.novelty.past import MOST_BATCHES

ROWS = 1000
HEAVY, TOGETHER = 0.6, 0.5  # standard deviations of the logarithm of what a distance is multiplied by


class Days(StrEnum):
    """How the distances of sound days are spread."""

    SAMPLING = "chi-squares of 1 to 11 degrees, as sampling gives"
    WILD = "each times a log-normal number of its own, so that tails are heavy"
    TOGETHER = "all of a day times one log-normal number, so that columns move together"


def alarms(kind: Days, columns: int, days: int, seed: int) -> tuple[int, int]:
    """False alarms, and days that were judged."""
    drawn = np.random.default_rng([seed, list(Days).index(kind)])
    degrees = drawn.integers(1, 12, columns).astype(np.float64)
    before = np.arange(1.0, days + 1)[:, None] + np.zeros(columns)
    own = drawn.chisquare(degrees, (days, columns)) / ROWS * (1 + 1 / before)
    if kind is Days.WILD:
        own *= np.exp(HEAVY * drawn.normal(size=own.shape))
    elif kind is Days.TOGETHER:
        own *= np.exp(TOGETHER * drawn.normal(size=(days, 1)))
    expected, found = np.broadcast_to(degrees / ROWS, own.shape), 0
    for day in range(LEARNING, days):
        last = slice(max(0, day - MOST_BATCHES), day + 1)
        family = FamilyDistances(
            tests=(), values=own[last], distances=own[last], expected=expected[last], degrees=degrees,
            before=before[last],
        )  # fmt: skip
        maxima = np.nan_to_num(standardised(family)).max(axis=1)
        found += bool(maxima[-1] > bound_of(maxima[:-1], columns))
    return found, days - LEARNING
