"""Window templates in SQL: ``datestr = '{window.start-7d:date}'``, in the dataset's zone and local calendar.

A ``timestamp '…'`` of SQL is an instant, and one without a zone is read as UTC. So a local time that is all of such a
literal is written with its offset; in ``timestamp_ntz '…'`` and in texts it stays as the local clock says it.

Only what begins with ``{window`` is a template, so that the braces of a regular expression stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from assay.time.durations import Step, StepUnit, UnableToStep, shift
from assay.time.windows import Granularity, Partitioning, Window

_TEMPLATE = re.compile(r"\{\s*window\b[^{}]*(\}|$)")
_BEFORE_INSTANT = re.compile(r"\btimestamp(_ltz)?\s*'$", re.IGNORECASE)
_PARTS = re.compile(r"\{window\.(?P<edge>start|end)(?P<step>[+-]\w+)?:(?P<format>\w+)\}")

FORMATS: dict[str, Callable[[datetime], str]] = {  # each of an instant in the dataset's zone
    "date": lambda local: local.strftime("%Y-%m-%d"),
    "hour": lambda local: local.strftime("%Y-%m-%d-%H"),
    "datetime": lambda local: local.strftime("%Y-%m-%d %H:%M:%S"),
    "iso": lambda local: local.isoformat(),
    "epoch": lambda local: str(int(local.timestamp())),
}
KEY = "key"  # the key of the partition that holds the instant


class UnableToRender(ValueError):
    """A template that cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Template:
    """One template: an edge of the window, a step from it, and a format."""

    edge: str
    step: Step | None
    format: str

    @classmethod
    def parse(cls, text: str) -> "Template":
        """The template that ``text`` is; raises UnableToRender."""
        match = _PARTS.fullmatch(text)
        if match is None or match["format"] not in (*FORMATS, KEY):
            example = "{window.start:date} or {window.end-7d:date}"
            formats = ", ".join((*FORMATS, KEY))
            raise UnableToRender(f"{text} is no template: write {example}, the format one of {formats}")
        try:
            step = None if match["step"] is None else Step.parse(match["step"])
        except UnableToStep as error:
            raise UnableToRender(f"{text} is no template: {error}") from None
        return cls(edge=match["edge"], step=step, format=match["format"])


def templates(text: str) -> tuple[Template, ...]:
    """The templates in ``text``; raises UnableToRender for the first that cannot be read."""
    return tuple(Template.parse(match.group()) for match in _TEMPLATE.finditer(text))


def faults(text: str) -> Iterator[str]:
    """What is wrong with each template in ``text`` that cannot be read."""
    for match in _TEMPLATE.finditer(text):
        try:
            Template.parse(match.group())
        except UnableToRender as error:
            yield str(error)


def render(text: str, window: Window, partitioning: Partitioning) -> str:
    """``text`` with its templates filled in for ``window``; raises UnableToRender."""

    def fill(match: re.Match[str]) -> str:
        template = Template.parse(match.group())
        instant = window.start if template.edge == "start" else window.end
        if template.step is not None:
            instant = shift(instant, template.step, partitioning.zone)
        if template.format == KEY:
            return partitioning.key(partitioning.at(instant))
        local = instant.astimezone(partitioning.zone)
        is_timestamp = _BEFORE_INSTANT.search(text, 0, match.start()) and text.startswith("'", match.end())
        if template.format == "datetime" and is_timestamp and local.utcoffset():
            return FORMATS["iso"](local)  # it is all of a ``timestamp`` of SQL
        return FORMATS[template.format](local)

    return _TEMPLATE.sub(fill, text)


# Steps back in time as ``ago=`` and ``every=`` take them.

_HINTS = {
    Granularity.HOUR: "1h or 1d",
    Granularity.DAY: "1d or 1mo",
    Granularity.WEEK: "1w",
    Granularity.MONTH: "1mo or 1y",
}


def misfit(text: str, granularity: Granularity | None, name: str) -> str | None:
    """What is wrong with a step back; None for one that leads from each partition to another, or may."""
    try:
        step = Step.parse(text)
    except UnableToStep as error:
        return str(error)
    if step.amount <= 0:
        return f"{name}= needs a step of at least one unit, such as 7d"
    if granularity is not None and not fits(step, granularity):
        return no_multiple(step, granularity)
    return None


def no_multiple(step: Step, granularity: Granularity) -> str:
    """What is said of a step that does not fit."""
    length = f"{abs(step.amount)}{step.unit.value}"
    hint = _HINTS[granularity]
    return f"{length} is no whole number of {granularity.value}s, which the partitions are: take {hint}, or multiples"


def fits(step: Step, granularity: Granularity) -> bool:
    """Whether the step is a multiple of the partitions' length, wherever it begins."""
    match granularity:
        case Granularity.HOUR:
            return step.unit is not StepUnit.MINUTE
        case Granularity.DAY:
            return step.unit.is_calendar
        case Granularity.WEEK:
            return step.unit is StepUnit.WEEK or (step.unit is StepUnit.DAY and step.amount % 7 == 0)
        case Granularity.MONTH:
            return step.unit in (StepUnit.MONTH, StepUnit.YEAR)
