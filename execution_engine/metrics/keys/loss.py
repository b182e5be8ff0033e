"""How many keys are missing, from those that a filter misses: it hides a share of the keys that are really missing."""

from dataclasses import dataclass
from math import ceil, sqrt

CONFIDENCE = 0.999
_COUNTED = 1000  # above so many, hidden keys are as good as normally distributed


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Of ``keys`` distinct keys, ``missed`` are certainly missing; absent ones pass at ``error_rate``."""

    keys: int
    missed: int
    error_rate: float

    @property
    def hidden(self) -> int:
        """The expected number of missing keys that the filter takes for present."""
        return min(round(self.missed * self.error_rate / (1 - self.error_rate)), self.keys - self.missed)

    @property
    def hidden_at_most(self) -> int:
        """With a confidence of 99.9 %."""
        return min(_at_most(self.missed, self.error_rate), self.keys - self.missed)

    @property
    def found(self) -> int:
        """The number of keys found, corrected for those hidden."""
        return self.keys - self.missed - self.hidden


def _at_most(missed: int, rate: float) -> int:
    """The 99.9 % quantile of the passes before the next miss, missed + 1 times: a negative binomial."""
    if missed > _COUNTED:
        mean = (missed + 1) * rate / (1 - rate)
        return ceil(mean + 3.4 * sqrt(mean / (1 - rate)) + 3)
    chance = total = (1 - rate) ** (missed + 1)
    hidden = 0
    while total < CONFIDENCE:
        hidden += 1
        chance *= rate * (missed + hidden) / hidden
        total += chance
    return hidden
