"""The ways to reach people. A new one is a file beside its siblings, a class in ``KINDS``, a branch in ``channels``.

Who is told, and when, is decided before; a channel only sends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr

from alerting.routes import Route, Routes, read_routes, routes
from alerting.state import LOG
from assay.config import config
from assay.edge.destination import rules_for
from assay.models import Dataset

from .apprise_services import AppriseChannel
from .base import Channel, ChannelMessage, NoticePart, Picture, TransportError, calls
from .email import EmailChannel
from .log import LogChannel
from .pagerduty import PagerDutyChannel
from .slack import SlackChannel
from .teams import TeamsChannel
from .webhook import WebhookChannel

KINDS: tuple[type[Channel], ...] = (  # that a route may name
    EmailChannel,
    SlackChannel,
    PagerDutyChannel,
    TeamsChannel,
    AppriseChannel,
    WebhookChannel,
)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """A channel that reaches a recipient, and its address there."""

    channel: Channel
    address: str


def channels() -> tuple[Channel, ...]:
    """The channels that the environment configures; the log always."""
    conf = config()
    private = conf.webhook_private
    ways: list[Channel] = [LogChannel()]
    if conf.email_url:
        ways.append(EmailChannel(url=conf.email_url, sender=conf.email_from))
    if conf.webhook_url:
        rules = rules_for(conf.webhook_url, conf.webhook_hosts, permits_private=private)
        ways.append(WebhookChannel(url=conf.webhook_url, rules=rules, secret=conf.webhook_secret.get_secret_value()))
    if token := conf.slack_token.get_secret_value():
        api = f"{conf.slack_url.rstrip('/')}/"
        ways.append(SlackChannel(api=api, token=token, calls=calls("slack", api, permits_private=private)))
    if conf.pagerduty_keys:
        to = calls("pagerduty", conf.pagerduty_url, permits_private=private)
        ways.append(PagerDutyChannel(url=conf.pagerduty_url, secrets=_reveal(conf.pagerduty_keys), calls=to))
    if conf.teams_urls:
        ways.append(TeamsChannel(secrets=_reveal(conf.teams_urls), permits_private=private))
    if conf.apprise_urls:
        ways.append(AppriseChannel(secrets=_reveal(conf.apprise_urls), permits_private=private))
    return tuple(ways)


def _reveal(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: secret.get_secret_value() for name, secret in secrets.items()}


def channel(name: str) -> Channel | None:
    """The configured channel with this name."""
    return next((channel for channel in channels() if channel.name == name), None)


def route_of(recipient: str, dataset: Dataset | None = None) -> Route | None:
    """The route of a recipient, as the owner of a dataset where it is given.

    Of the addresses that a catalog states of the dataset those count that a channel reaches.
    """
    if dataset is None:
        return routes().of(recipient)
    channels = {name: to for name, to in dataset.channels.items() if address_fault(name, to) is None}
    return routes().of(recipient, dataset.team, Route(channels=channels) if channels else None)


def reached_by(recipient: str, dataset: Dataset | None = None) -> tuple[Reach, ...]:
    """The channels that reach a recipient, as the owner of a dataset where it is given; the log is always among them.

    Those of their route, else those that know the name.
    """
    return reached_on(route_of(recipient, dataset), recipient)


def reached_on(route: Route | None, recipient: str) -> tuple[Reach, ...]:
    """The channels of a route, or those that know the recipient's name, where there is none; the log always."""
    if route is None:
        return tuple(Reach(channel=way, address="") for way in channels() if way.reaches(recipient))
    to = {LOG: "", **route.channels}
    return tuple(Reach(channel=way, address=to[way.name]) for way in channels() if way.name in to)


def is_reachable(recipient: str, dataset: Dataset | None = None) -> bool:
    """Whether any channel but the log reaches a recipient, as the owner of a dataset where it is given."""
    return any(reach.channel.name != LOG for reach in reached_by(recipient, dataset))


def is_addressed(name: str) -> bool:
    """Whether a route bears the name, or it is an address of a channel that does not take every text."""
    return routes().own(name) is not None or any(way.reaches(name) for way in channels() if not way.takes_any_name)


def send_test_message(name: str, address: str, *, author: str, now: datetime) -> None:
    """Send a message that says that it is a test to an address of a channel; raises TransportError."""
    if fault := address_fault(name, address):
        raise TransportError(fault, permanent=True)
    target, title = channel(name), "A test message of Assay"
    assert target is not None  # else that was a fault
    body = f"{author} tests the channel {name}. Nothing is wrong, and nobody needs to do anything."
    part = NoticePart(title=title, body=body, facts={"event": "test"})
    key = f"test:{name}:{now:%Y%m%dT%H%M%S%f}"
    target.send(
        ChannelMessage(key=key, recipient=address, subject=title, body=body, facts=(part.facts,), parts=(part,))
    )


def check_routes() -> Routes:
    """The routes of the file, each address looked at with the settings of its channel; raises UnableToReadRoutes."""
    path = config().routes
    return read_routes(path, fault=address_fault) if path else Routes()


def address_fault(name: str, address: str) -> str | None:
    """What is wrong with an address of a route, if anything is; what the channel's settings do not name is."""
    kinds = {kind.name: kind for kind in KINDS}
    if name not in kinds:
        return f"found the unknown channel {name!r}: Known here: {', '.join(kinds)}."
    if (target := channel(name)) is None:
        return f"found the channel {name!r}, which is not set up: set {kinds[name].setting}."
    return None if target.reaches(address) else f"found {address!r}: {target.address_form}."
