"""What a route says, and until when quiet hours last; all of it is pure, time is passed in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from assay.time.local_time import boundary

DAY = timedelta(days=1)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
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
        for quiet_from, quiet_to in self._stretches(at.astimezone(self.zone).date()):
            if quiet_from <= at < quiet_to:
                at = quiet_to
        return at

    def heard(self, at: datetime, *, tier: int | None = None) -> datetime:
        """When something of a tier, or of none, that may wait is heard, if it happens at an instant."""
        return self.until(at) if tier is None or tier in self.tiers else at

    def _stretches(self, day: date) -> list[tuple[datetime, datetime]]:
        """The quiet stretches from the day before to ten days on, by their begin: each may lead into the next."""
        found: list[tuple[datetime, datetime]] = []
        for number in range(-1, 10):
            this = day + number * DAY
            if this.weekday() in self.days_off:
                found.append((self._at(this, time(0)), self._at(this + DAY, time(0))))
            if self.begin != self.end:
                over = DAY if self.end <= self.begin else timedelta()
                found.append((self._at(this, self.begin), self._at(this + over, self.end)))
        return sorted(found)

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
        each = (*self.owners.values(), *self.teams.values(), *([self.default] if self.default else ()))
        return any(route.quiet_hours for route in each)

    def own(self, person: str) -> Route | None:
        """The route that names a person, or the team of that name: nobody else is told by it."""
        return self.owners.get(person) or self.teams.get(person)

    def of(self, recipient: str, team: str = "") -> Route | None:
        """The route of a recipient, who may be a team, on behalf of a team: the owner's own comes first."""
        return self.own(recipient) or self.teams.get(team) or self.default
