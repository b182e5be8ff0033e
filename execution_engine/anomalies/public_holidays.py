"""The public holidays of a country (pure); the library is imported when one is first asked for, as it takes a while."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holidays import HolidayBase

UNKNOWN = "no country that is known: write its two letters of ISO 3166, such as 'US'"


@cache
def holidays_of(country: str) -> "HolidayBase":
    """Which dates are public holidays (``date in …``); ValueError for a country that nobody knows."""
    from holidays import country_holidays

    try:
        return country_holidays(country)
    except NotImplementedError:
        raise ValueError(UNKNOWN) from None
