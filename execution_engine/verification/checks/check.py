"""A check: constraints of one level, added one after another."""

from .of_completeness import OfCompleteness
from .of_keys import OfKeys
from .of_numbers import OfNumbers
from .of_rows import OfRows
from .of_texts import OfTexts
from .over_time import OverTime


class Check(OfCompleteness, OfKeys, OfNumbers, OfTexts, OfRows, OverTime):
    """``Check(Level.ERROR, "integrity").is_complete("id").has_size(at_least(1000))``.

    It is never changed: each method returns a new check. One metric may be bounded twice, in two checks of two levels.
    """
