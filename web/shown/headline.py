"""What is wrong in an incident, in one plain sentence that leads with its worst value. Pure.

Of a standard test the value has a known meaning, so the sentence says what it means for the data. Of any other test it
is what the test itself said.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WorstResult:
    """The worst result of an incident: of one test, over one window.

    ``value`` is None where it must not be told, ``keys`` names the partition, empty for the whole table.
    ``is_standard`` says that Assay wrote the test.
    """

    test: str
    category: str
    is_standard: bool
    keys: str
    value: float | None
    sentence: str
    datacenter: str = ""
    spoils: str = ""


def headline(worst: WorstResult, *, others: int, is_over: bool) -> str:
    """The sentence; ``others`` are as many more windows that are bad (or were, where the incident is over)."""
    meaning = _MEANINGS.get(worst.test.partition(":")[0].partition("@")[0]) if worst.is_standard else None
    said = meaning(worst, "were" if is_over else "are") if meaning and worst.value is not None else ""
    if not said:
        said = f"{worst.keys}: {worst.sentence}" if worst.keys else worst.sentence
    more = f" {others} more {'window' if others == 1 else 'windows'} {_be(others, is_over)} bad." if others else ""
    return f"{said.rstrip('.')}.{more}" if said else more.strip()


def share(value: float) -> str:
    """A share of rows for people: a tenth of a percent where it is small, never rounded to nothing or to all."""
    percent = value * 100
    if percent < 0.1:
        return "less than 0.1 %"
    if percent < 10:
        return f"{math.floor(percent * 10 + 0.5) / 10:g} %"
    return f"{percent:.0f} %" if percent < 99.5 else "almost all" if value < 1 else "all"


def _late(worst: WorstResult, be: str) -> str:
    assert worst.value is not None
    after = _length(max(1, round(worst.value / 60)))
    where = f" in {worst.datacenter}" if "@" in worst.test else ""
    verb = "was" if be == "were" else "is"
    return f"{worst.keys} {verb} not complete{where} {after} after its end"


def _length(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"


def _missing(worst: WorstResult, be: str) -> str:
    assert worst.value is not None
    upstream = worst.test.partition(":")[2].removesuffix(":whole")
    if worst.value > 1:
        there = "There were" if be == "were" else "There are"
        more = f"{worst.value:.3g} times as many" if worst.value >= 2 else f"{share(worst.value - 1)} more"
        return f"{there} {more} rows {'as' if worst.value >= 2 else 'than'} in {upstream}{_of(worst)}"
    return f"{_lead(share(1 - worst.value))} of the rows {be} missing{_of(worst)}"


def _not_found(worst: WorstResult, be: str) -> str:
    assert worst.value is not None
    upstream = worst.test.partition(":")[2]
    return f"{_lead(share(1 - worst.value))} of the rows that were drawn from {upstream} {be} missing{_of(worst)}"


def _twice(worst: WorstResult, be: str) -> str:
    assert worst.value is not None
    return f"{_lead(share(worst.value))} of the rows {be} duplicates{_of(worst)}"


def _different(worst: WorstResult, be: str) -> str:
    assert worst.value is not None
    of = "keys" if worst.test.startswith("consistency-bloom") else "rows"
    missing = f"{_lead(share(1 - worst.value))} of the {of} that {worst.datacenter} has"
    return f"{missing} {be} missing in {worst.spoils}{_of(worst)}"


def _of(worst: WorstResult) -> str:
    return f" on {worst.keys}" if worst.keys else ""


def _lead(text: str) -> str:
    return text[:1].upper() + text[1:]


def _be(many: int, is_over: bool) -> str:
    if is_over:
        return "was" if many == 1 else "were"
    return "is" if many == 1 else "are"


_MEANINGS: dict[str, Callable[[WorstResult, str], str]] = {  # by the first part of a standard test's name
    "freshness": _late,
    "completeness": _missing,
    "completeness-sample": _not_found,
    "duplicates": _twice,
    "consistency-count": _different,
    "consistency-bloom": _different,
}
