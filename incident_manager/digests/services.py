"""The stage *digest*: once a day it tells the teams whose day it is of their week."""

from datetime import datetime

from alerting.routes.loaded import route_of
from alerting.services import tell
from assay.models import DigestRound
from assay.queue.claims import finish
from assay.scheduler.digests import next_morning

from .html import html
from .rules import subject, text
from .selectors import figures_of, teams

MONDAY = 0


def tell_digests(row: DigestRound, now: datetime) -> None:
    """Tell each team whose day it is of its week; a week's message has one key, so it is told once."""
    for team in teams():
        route = route_of(team)
        if (route.digest_day if route else MONDAY) == now.weekday():
            tell_digest(team, now=now)
    finish(row, due_at=next_morning(now))


def tell_digest(team: str, *, now: datetime) -> None:
    """Tell one team of the week that ends now."""
    figures = figures_of(team, now=now)
    year, week, _ = now.isocalendar()
    tell(
        event="digest",
        recipient=team,
        team=team,
        is_soft=True,
        subject=subject(figures),
        body=text(figures),
        html=html(figures),
        facts={"team": team, "quality": figures.quality, "open": len(figures.incidents), "url": figures.url},
        key=f"digest:{year}w{week:02d}",
        now=now,
    )
