"""From what an engine returns to the value that is stored."""

from decimal import Decimal
from math import isfinite
from typing import Any

from execution_engine.outcome import Reason

from .protocol import Measured, failed


def measured_number(value: Any, what: str) -> Measured:
    """The number as a measurement. NaN and infinity are failures: no database stores them and no bound fits them."""
    if value is None:
        return Measured()
    if not isinstance(value, int | float | Decimal):
        return failed(Reason.QUERY_FAILED, f"{what} gave {value!r:.80}, not a number; measure or cast to a number")
    number = float(value)
    if not isfinite(number):
        return failed(Reason.NOT_FINITE, f"{what} is {number}; leave such values out with where=")
    return Measured(value=number)
