"""The route file: YAML, read whole, or refused with everything that is wrong in it, by line."""

from collections.abc import Callable, Iterator, Mapping
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationError

from assay.catalog.yaml.parts import Level, Word, YamlPart
from assay.catalog.yaml.provider import sentence_of
from assay.catalog.yaml.yaml_text import UnableToParseYaml, YamlText, parse_yaml, path_text
from assay.time.partition_keys import zone

from .rules import ALL_TIERS, DAYS, QuietHours, Route, Routes


class UnableToReadRoutes(ValueError):
    """A route file that cannot be used; one line for everything that is wrong in it."""


def _clock(value: object) -> time:
    try:
        return time.fromisoformat(value) if isinstance(value, str) and len(value) == len("00:00") else _no_clock()
    except ValueError:
        return _no_clock()


def _no_clock() -> time:
    raise ValueError('write a time of the day in quotes, such as "19:00"')


def _not_empty(channels: dict[str, str]) -> dict[str, str]:
    if not channels:
        raise ValueError("name a channel and its address, such as email: trips@example.org")
    return channels


def _not_all(days: list[str]) -> list[str]:
    if set(days) == set(DAYS):
        raise ValueError("a week needs a day that is not off, or soft notices would wait for ever")
    return days


Clock = Annotated[time, BeforeValidator(_clock)]
Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DigestDay = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "never"]
To = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")]


class QuietHoursPart(YamlPart):
    """When soft notices wait."""

    zone: Annotated[str, AfterValidator(lambda name: zone(name).key)]
    start: Annotated[Clock, Field(alias="from")] = time(0)
    end: Annotated[Clock, Field(alias="to")] = time(0)
    days_off: Annotated[list[Day], AfterValidator(_not_all)] = []
    tiers: Annotated[list[Level], Field(min_length=1)] = sorted(ALL_TIERS)


class RoutePart(YamlPart):
    """One route."""

    channels: Annotated[dict[Word, To], AfterValidator(_not_empty)]
    quiet_hours: QuietHoursPart | None = None
    digest: DigestDay = "monday"


class RoutesPart(YamlPart):
    """The whole file."""

    default: RoutePart | None = None
    teams: dict[Word, RoutePart] = {}
    owners: dict[Word, RoutePart] = {}


Fault = Callable[[str, str], str | None]  # of a channel's name and an address: what is wrong, if anything is


def read_routes(path: Path, *, fault: Fault = lambda channel, address: None) -> Routes:
    """The routes that a file tells; raises UnableToReadRoutes with all mistakes, each with its line."""
    try:
        text = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnableToReadRoutes(f"{path}: cannot be read: {error.strerror}. Correct ASSAY_ROUTES.") from None
    except UnicodeDecodeError as error:
        raise UnableToReadRoutes(f"{path}: is no UTF-8 text at byte {error.start}: save it as UTF-8.") from None
    except UnableToParseYaml as error:
        why = f"no YAML, from column {error.column}: {error.sentence}. Check quotes and indentation."
        raise UnableToReadRoutes(f"{path}:{error.line}: {why}") from None
    found, wrong = _part(text)
    wrong += [((each.path,), each.sentence, each.line) for each in text.doubled_keys]
    if found is not None:
        wrong += [(where, why, text.line(where)) for where, why in _faults(found, fault)]
    if wrong:
        found_at = sorted(wrong, key=lambda each: each[2])
        lines = [f"{path}:{line}: {f'{path_text(where)}: ' if where else ''}{why}" for where, why, line in found_at]
        raise UnableToReadRoutes("\n".join(lines))
    assert found is not None
    return Routes(
        owners={name: _route(part) for name, part in found.owners.items()},
        teams={name: _route(part) for name, part in found.teams.items()},
        default=_route(found.default) if found.default else None,
    )


Wrong = tuple[tuple[str | int, ...], str, int]


def _part(text: YamlText) -> tuple[RoutesPart | None, list[Wrong]]:
    content: Any = {} if text.content is None else text.content
    try:
        return RoutesPart.model_validate(content), []
    except ValidationError as error:
        return None, [
            (tuple(each["loc"]), sentence_of(each, RoutesPart), text.line(each["loc"])) for each in error.errors()
        ]


def _faults(found: RoutesPart, fault: Fault) -> Iterator[tuple[tuple[str | int, ...], str]]:
    sections: dict[tuple[str, ...], RoutePart] = {("default",): found.default} if found.default else {}
    parts: Mapping[str, Mapping[str, RoutePart]] = {"teams": found.teams, "owners": found.owners}
    sections |= {(section, name): part for section, named in parts.items() for name, part in named.items()}
    for where, part in sections.items():
        for channel, address in part.channels.items():
            if why := fault(channel, address):
                yield (*where, "channels", channel), why


def _route(part: RoutePart) -> Route:
    hours = part.quiet_hours
    return Route(
        channels=dict(part.channels),
        quiet_hours=QuietHours(
            zone=zone(hours.zone),
            begin=hours.start,
            end=hours.end,
            days_off=frozenset(map(DAYS.index, hours.days_off)),
            tiers=frozenset(hours.tiers),
        )
        if hours
        else None,
        digest_day=None if part.digest == "never" else DAYS.index(part.digest),
    )
