"""The ways to reach people. A new one is a file beside its siblings and one line in ``channels``.

Who is told, and when, is decided before; a channel only sends.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from alerting.routes import Route, Routes, read_routes, route_of, routes
from alerting.state import LOG
from assay.config import config
from assay.edge.destination import rules_for

from .apprise_services import AppriseChannel
from .base import Channel, ChannelMessage, Part, TransportError
from .email import EmailChannel
from .json_calls import calls
from .log import LogChannel
from .pagerduty import PagerDutyChannel
from .slack import SlackChannel
from .teams import TeamsChannel
from .webhook import WebhookChannel

__all__ = [
    "Channel",
    "ChannelMessage",
    "Part",
    "Reach",
    "TransportError",
    "channel",
    "channels",
    "check_routes",
    "is_addressed",
    "is_reachable",
    "reached_by",
    "reached_on",
]


@dataclass(frozen=True, kw_only=True)
class Reach:
    """A channel that reaches a recipient, and its address there."""

    channel: Channel
    address: str


def channels() -> tuple[Channel, ...]:
    """The channels that the environment configures; the log always."""
    conf = config()
    private = conf.webhook_private
    found: list[Channel] = [LogChannel()]
    if conf.email_url:
        found.append(EmailChannel(url=conf.email_url, sender=conf.email_from))
    if conf.webhook_url:
        rules = rules_for(conf.webhook_url, conf.webhook_hosts, permits_private=private)
        found.append(WebhookChannel(url=conf.webhook_url, rules=rules, secret=conf.webhook_secret.get_secret_value()))
    if token := conf.slack_token.get_secret_value():
        api = f"{conf.slack_url.rstrip('/')}/"
        found.append(SlackChannel(api=api, token=token, calls=calls("slack", api, permits_private=private)))
    if conf.pagerduty_keys:
        to = calls("pagerduty", conf.pagerduty_url, permits_private=private)
        found.append(PagerDutyChannel(url=conf.pagerduty_url, keys=_told(conf.pagerduty_keys), calls=to))
    if conf.teams_urls:
        found.append(TeamsChannel(urls=_told(conf.teams_urls), permits_private=private))
    if conf.apprise_urls:
        found.append(AppriseChannel(urls=_told(conf.apprise_urls), permits_private=private))
    return tuple(found)


def _told(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: secret.get_secret_value() for name, secret in secrets.items()}


def channel(name: str) -> Channel | None:
    """The configured channel with this name."""
    return next((channel for channel in channels() if channel.name == name), None)


def reached_by(recipient: str, team: str = "") -> tuple[Reach, ...]:
    """The channels that reach a recipient on behalf of a team: those of their route, else those that know the name.

    The log is always among them.
    """
    return reached_on(route_of(recipient, team), recipient)


def reached_on(route: Route | None, recipient: str) -> tuple[Reach, ...]:
    """The channels of a route, or those that know the recipient's name, where there is none; the log always."""
    if route is None:
        return tuple(Reach(channel=each, address="") for each in channels() if each.reaches(recipient))
    to = {LOG: "", **route.channels}
    return tuple(Reach(channel=each, address=to[each.name]) for each in channels() if each.name in to)


def is_reachable(recipient: str, team: str = "") -> bool:
    """Whether any channel but the log reaches a recipient."""
    return any(reach.channel.name != LOG for reach in reached_by(recipient, team))


def is_addressed(name: str) -> bool:
    """Whether a route bears the name, or it is an address of a channel that does not take every text."""
    return routes().own(name) is not None or any(
        each.reaches(name) for each in channels() if each.name not in (LOG, WebhookChannel.name)
    )


def check_routes() -> Routes:
    """The routes of the file, each address looked at with the settings of its channel; raises UnableToReadRoutes."""
    path = config().routes
    return read_routes(path, fault=address_fault) if path else Routes()


def address_fault(channel_name: str, address: str) -> str | None:
    """What is wrong with an address of a route, if anything is; what the channel's settings do not name is."""
    found = channel(channel_name)
    if channel_name not in SETTINGS:
        return f"found the unknown channel {channel_name!r}: Known here: {', '.join(SETTINGS)}."
    if found is None:
        return f"found the channel {channel_name!r}, which is not set up: set {SETTINGS[channel_name]}."
    if not found.reaches(address):
        return f"found {address!r}: {FORMS[channel_name]}."
    return None


SETTINGS = {
    "email": "ASSAY_EMAIL_URL",
    "slack": "ASSAY_SLACK_TOKEN",
    "pagerduty": "ASSAY_PAGERDUTY_KEYS",
    "teams": "ASSAY_TEAMS_URLS",
    "apprise": "ASSAY_APPRISE_URLS",
    "webhook": "ASSAY_WEBHOOK_URL",
}
FORMS = {
    "email": "write an address with an @",
    "slack": 'write "#channel" in quotes, or the id of a channel or a person such as C0123456789',
    "pagerduty": "write the name of a key in ASSAY_PAGERDUTY_KEYS",
    "teams": "write the name of a URL in ASSAY_TEAMS_URLS",
    "apprise": "write the name of a URL in ASSAY_APPRISE_URLS",
    "webhook": "write any text",
}
