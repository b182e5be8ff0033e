"""How often one may ask: so many requests of a kind within a span, written ``600/m``."""

import re
from collections.abc import Mapping
from types import MappingProxyType

RATES: Mapping[str, str] = MappingProxyType(
    {
        "read": "1200/m",
        "write": "300/m",
        "gate": "1200/m",  # asked before every read of every pipeline
        "query": "120/m",  # SQL is parsed, or hundreds of ranges are looked up
        "report": "30/m",  # somebody is woken
        "run": "60/m",  # Spark works
        "anonymous": "60/m",  # by address: whoever has not said who they are
        "login": "10/m",  # wrong passwords of one name from one address
        "login-address": "60/m",  # of any name from one address
        "login-name": "100/h",  # of one name from anywhere
    }
)
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_RATE = re.compile(r"([1-9]\d{0,8})/([smhd])", re.ASCII)


def parse_rate(text: str) -> tuple[int, int]:
    """How many within how many seconds; raises ValueError."""
    if not (match := _RATE.fullmatch(text)):
        raise ValueError(f"{text!r} is no rate: write a number, a slash and one of s, m, h, d, such as 600/m")
    return int(match[1]), SECONDS[match[2]]


def merged(changes: Mapping[str, str]) -> dict[str, str]:
    """The rates in force; raises ValueError for a kind that there is not, or a text that is no rate."""
    if unknown := sorted(set(changes) - set(RATES)):
        raise ValueError(f"{', '.join(unknown)}: no such kind of request; there are {', '.join(RATES)}")
    for text in changes.values():
        parse_rate(text)
    return {**RATES, **changes}
