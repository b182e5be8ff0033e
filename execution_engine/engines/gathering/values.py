"""From what an engine returns to the value that is stored."""

from decimal import Decimal
from math import isfinite
from typing import Any

from execution_engine.engines.protocol import Measured, failed
from execution_engine.exact import number_of
from execution_engine.outcome import Reason


def measured_number(value: Any, what: str) -> Measured:
    """The number as a measurement. NaN and infinity are failures: no database stores them and no bound fits them."""
    if value is None:
        return Measured()
    if not isinstance(value, int | float | Decimal):
        kind = type(value).__name__  # and not what it is: that is somebody's data
        return failed(Reason.QUERY_FAILED, f"{what} gave a {kind}, not a number; measure or cast to a number")
    if not isfinite(value):
        return failed(Reason.NOT_FINITE, f"{what} is {value}; leave such values out with where=")
    return Measured(value=number_of(value))
