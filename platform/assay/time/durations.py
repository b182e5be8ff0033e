"""Lengths of time as people write them: ``4h``, ``30m``, ``1d``, ``90s``. A day here is 24 hours."""

import re
from datetime import timedelta

_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([smhdw])", re.ASCII)
_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}

MOST_DOUBLINGS = 20  # more would only make numbers too large to multiply
LONGEST = timedelta(days=36_525)  # so that no instant of ours leaves the calendar by it


class UnableToReadDuration(ValueError):
    """A text that is no length of time."""


def parse_duration(text: str) -> timedelta:
    """The length that ``4h``, ``1.5d``, ``30m``, ``90s`` or ``2w`` says; raises UnableToReadDuration."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise UnableToReadDuration(f"{text!r} is no length of time: write a number and s, m, h, d or w, such as 4h.")
    amount, unit = match.groups()
    if float(amount) > LONGEST / _UNITS[unit]:
        raise UnableToReadDuration(f"{text!r} is too long: write at most {LONGEST.days}d, a hundred years.")
    return float(amount) * _UNITS[unit]


def format_duration(length: timedelta) -> str:
    """The shortest text that ``parse_duration`` reads back, in whole days, hours or minutes where it can be."""
    for unit in "dhm":
        if length and not length % _UNITS[unit]:
            return f"{length // _UNITS[unit]}{unit}"
    seconds, rest = divmod(length, _UNITS["s"])
    fraction = f".{rest.microseconds:06d}".rstrip("0") if rest else ""
    return f"{seconds}{fraction}s"


def doubled(first: timedelta, times: int, *, most: timedelta) -> timedelta:
    """``first`` doubled so many times, at most ``most``: the wait of every back-off."""
    factor: int = 2 ** min(times, MOST_DOUBLINGS)
    return min(first * factor, most)
