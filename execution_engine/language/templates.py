"""Window templates in SQL: ``datestr = '{window.start-7d:date}'``, in the dataset's zone and local calendar.

Only what begins with ``{window`` is a template, so that the braces of a regular expression stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from assay.time.windows import Partitioning, Step, UnableToStep, Window, shift

_TEMPLATE = re.compile(r"\{\s*window\b[^{}]*(\}|$)")
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


def templates(text: str) -> tuple[Template, ...]:
    """The templates in ``text``; raises UnableToRender for the first that cannot be read."""
    return tuple(_read(match.group()) for match in _TEMPLATE.finditer(text))


def faults(text: str) -> Iterator[str]:
    """What is wrong with each template in ``text`` that cannot be read."""
    for match in _TEMPLATE.finditer(text):
        try:
            _read(match.group())
        except UnableToRender as error:
            yield str(error)


def render(text: str, window: Window, partitioning: Partitioning) -> str:
    """``text`` with its templates filled in for ``window``; raises UnableToRender."""
    return _TEMPLATE.sub(lambda match: _fill(_read(match.group()), window, partitioning), text)


def _read(text: str) -> Template:
    match = _PARTS.fullmatch(text)
    if match is None or match["format"] not in (*FORMATS, KEY):
        formats = ", ".join((*FORMATS, KEY))
        raise UnableToRender(
            f"{text} is no template: write {{window.start:date}} or {{window.end-7d:date}}, the format one of {formats}"
        )
    return Template(edge=match["edge"], step=_step(text, match["step"]), format=match["format"])


def _step(text: str, step: str | None) -> Step | None:
    try:
        return None if step is None else Step.parse(step)
    except UnableToStep as error:
        raise UnableToRender(f"{text} is no template: {error}") from None


def _fill(template: Template, window: Window, partitioning: Partitioning) -> str:
    instant = window.start if template.edge == "start" else window.end
    if template.step is not None:
        instant = shift(instant, template.step, partitioning.zone)
    if template.format == KEY:
        return partitioning.key(partitioning.at(instant))
    return FORMATS[template.format](instant.astimezone(partitioning.zone))
