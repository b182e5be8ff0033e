"""Routes: which channels and addresses a team or an owner has, their quiet hours, and the day of their digest.

How a channel sends is in ``channels``; who is told of what is in ``notices``.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo

import structlog
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from assay.catalog.yaml.parts import ChannelAddress, Level, Word, YamlPart
from assay.catalog.yaml.provider import sentence_of
from assay.catalog.yaml.yaml_text import UnableToParseYaml, parse_yaml, path_text
from assay.config import config
from assay.time.windows import boundary, zone

# What a route says, and until when quiet hours last; all of it is pure, time is passed in.

DAY = timedelta(days=1)
Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DAYS: tuple[str, ...] = get_args(Day)
ALL_TIERS = frozenset(range(6))


@dataclass(frozen=True, kw_only=True)
class QuietHours:
    """When soft notices wait: from one time of the local day to another, and on whole days off.

    ``begin`` equal to ``end``: no time of an ordinary day is quiet. ``begin`` later than ``end``: over midnight.
    ``days_off`` are numbers of weekdays, Monday 0; ``tiers`` those of the datasets that it is about.
    """

    zone: ZoneInfo
    begin: time = time(0)
    end: time = time(0)
    days_off: frozenset[int] = frozenset()
    tiers: frozenset[int] = ALL_TIERS

    def until(self, at: datetime) -> datetime:
        """The first instant from ``at`` on that is not quiet, in UTC: ``at`` itself where it is not.

        An instant is quiet by what the local clock shows, so a night is an hour shorter or longer when clocks move.
        """
        today, stretches = at.astimezone(self.zone).date(), []
        for number in range(-1, 10):  # by their begin: each may lead into the next
            day = today + number * DAY
            if day.weekday() in self.days_off:
                stretches.append((self._at(day, time(0)), self._at(day + DAY, time(0))))
            if self.begin != self.end:
                over = DAY if self.end <= self.begin else timedelta()
                stretches.append((self._at(day, self.begin), self._at(day + over, self.end)))
        for quiet_from, quiet_to in sorted(stretches):
            if quiet_from <= at < quiet_to:
                at = quiet_to
        return at

    def heard(self, at: datetime, *, tier: int | None = None) -> datetime:
        """When something of a tier, or of none, that may wait is heard, if it happens at an instant."""
        return self.until(at) if tier is None or tier in self.tiers else at

    def _at(self, day: date, clock: time) -> datetime:
        return boundary(datetime.combine(day, clock), self.zone)


@dataclass(frozen=True, kw_only=True)
class Route:
    """How one team or owner is reached: an address for each channel by its name."""

    channels: Mapping[str, str]
    quiet_hours: QuietHours | None = None
    digest_day: int | None = 0  # a weekday, Monday 0; None: no digest


@dataclass(frozen=True, kw_only=True)
class Routes:
    """All routes, by the names of owners and of teams, and the one of everybody else."""

    owners: Mapping[str, Route] = field(default_factory=dict)
    teams: Mapping[str, Route] = field(default_factory=dict)
    default: Route | None = None

    @property
    def have_quiet_hours(self) -> bool:
        """Whether anybody has quiet hours."""
        routes = (*self.owners.values(), *self.teams.values(), *([self.default] if self.default else ()))
        return any(route.quiet_hours for route in routes)

    def own(self, person: str) -> Route | None:
        """The route that names a person, or the team of that name: nobody else is told by it."""
        return self.owners.get(person) or self.teams.get(person)

    def of(self, recipient: str, team: str = "", dataset_route: Route | None = None) -> Route | None:
        """The route of a recipient, who may be a team, on behalf of a team: the owner's own comes first.

        That of a dataset, by its channels, comes before that of everybody else.
        """
        return self.own(recipient) or self.teams.get(team) or dataset_route or self.default


# The route file: YAML, read whole, or refused with everything that is wrong in it, by line.


class UnableToReadRoutes(ValueError):
    """A route file that cannot be used; one line for everything that is wrong in it."""


def _parse_clock(value: object) -> time:
    if isinstance(value, str) and len(value) == len("00:00"):
        with suppress(ValueError):
            return time.fromisoformat(value)
    raise ValueError('write a time of the day in quotes, such as "19:00"')


def _require_channel(channels: dict[str, str]) -> dict[str, str]:
    if not channels:
        raise ValueError("name a channel and its address, such as email: trips@example.org")
    return channels


def _require_working_day(days: list[str]) -> list[str]:
    if set(days) == set(DAYS):
        raise ValueError("a week needs a day that is not off, or soft notices would wait for ever")
    return days


Clock = Annotated[time, BeforeValidator(_parse_clock)]
DigestDay = Literal[Day, "never"]


class QuietHoursPart(YamlPart):
    """When soft notices wait."""

    zone: Annotated[str, AfterValidator(lambda name: zone(name).key)]
    start: Annotated[Clock, Field(alias="from")] = time(0)
    end: Annotated[Clock, Field(alias="to")] = time(0)
    days_off: Annotated[list[Day], AfterValidator(_require_working_day)] = []
    tiers: Annotated[list[Level], Field(min_length=1)] = sorted(ALL_TIERS)


class RoutePart(YamlPart):
    """One route."""

    channels: Annotated[dict[Word, ChannelAddress], AfterValidator(_require_channel)]
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
    wrong: list[tuple[tuple[str | int, ...], str, int]] = []
    file = RoutesPart()
    try:
        file = RoutesPart.model_validate({} if text.content is None else text.content)
    except ValidationError as error:
        wrong = [(row["loc"], sentence_of(row, RoutesPart), text.line(row["loc"])) for row in error.errors()]
    wrong += [((key.path,), key.sentence, key.line) for key in text.doubled_keys]
    parts: dict[tuple[str, ...], RoutePart] = {("default",): file.default} if file.default else {}
    parts |= {("teams", name): part for name, part in file.teams.items()}
    parts |= {("owners", name): part for name, part in file.owners.items()}
    for where, part in parts.items():
        for channel, address in part.channels.items():
            if problem := fault(channel, address):
                place = (*where, "channels", channel)
                wrong.append((place, problem, text.line(place)))
    if wrong:
        wrong.sort(key=lambda mistake: mistake[2])
        lines = [f"{path}:{line}: {f'{path_text(where)}: ' if where else ''}{why}" for where, why, line in wrong]
        raise UnableToReadRoutes("\n".join(lines))
    return Routes(
        owners={name: _route(part) for name, part in file.owners.items()},
        teams={name: _route(part) for name, part in file.teams.items()},
        default=_route(file.default) if file.default else None,
    )


def _route(part: RoutePart) -> Route:
    quiet_hours = None
    if (hours := part.quiet_hours) is not None:
        quiet_hours = QuietHours(
            zone=zone(hours.zone),
            begin=hours.start,
            end=hours.end,
            days_off=frozenset(map(DAYS.index, hours.days_off)),
            tiers=frozenset(hours.tiers),
        )
    digest_day = None if part.digest == "never" else DAYS.index(part.digest)
    return Route(channels=dict(part.channels), quiet_hours=quiet_hours, digest_day=digest_day)


# The routes of this process: read when they are first asked for, and again when their file has changed.

log = structlog.get_logger(__name__)


def routes() -> Routes:
    """The routes in force: of a file that is wrong the last ones that were right, or none."""
    path = config().routes
    if path is None:
        return Routes()
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        log.error("routes cannot be read", path=str(path), why=str(error))
        return _last_right.get(path, Routes())


_last_right: dict[Path, Routes] = {}


@lru_cache(maxsize=4)
def _read(path: Path, changed_at: int, size: int) -> Routes:
    """By what the file was like, so that it is read once for each of its versions."""
    try:
        _last_right[path] = read_routes(path)
    except UnableToReadRoutes as wrong:
        log.error("routes refused", why=str(wrong))
    return _last_right.get(path, Routes())
