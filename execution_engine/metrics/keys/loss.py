"""How many keys are missing, from those that a filter misses: it hides a share of the keys that are really missing."""

from dataclasses import dataclass

CONFIDENCE = 0.999


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
        """With a confidence of 99.9 %: the passes before the next miss, missed + 1 times, are negative binomial."""
        from scipy.stats import nbinom  # a third of a second, for which no comparison of equal digests waits

        return min(int(nbinom.ppf(CONFIDENCE, self.missed + 1, 1 - self.error_rate)), self.keys - self.missed)

    @property
    def found(self) -> int:
        """The number of keys found, corrected for those hidden."""
        return self.keys - self.missed - self.hidden
