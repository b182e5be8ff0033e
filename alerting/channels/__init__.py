"""The ways to reach people. A new one is a file beside its siblings and one line in ``channels``.

Who is told, and when, is decided before; a channel only sends.
"""

from assay.config import config
from assay.edge.destination import rules_for

from .base import Channel, ChannelMessage, TransportError
from .email import EmailChannel
from .log import LogChannel
from .webhook import WebhookChannel

__all__ = ["Channel", "ChannelMessage", "TransportError", "channel", "channels", "is_reachable"]


def channels() -> tuple[Channel, ...]:
    """The channels that the environment configures; the log always."""
    conf = config()
    found: list[Channel] = [LogChannel()]
    if conf.email_url:
        found.append(EmailChannel(url=conf.email_url, sender=conf.email_from))
    if conf.webhook_url:
        rules = rules_for(conf.webhook_url, conf.webhook_hosts, permits_private=conf.webhook_private)
        found.append(WebhookChannel(url=conf.webhook_url, rules=rules, secret=conf.webhook_secret.get_secret_value()))
    return tuple(found)


def channel(name: str) -> Channel | None:
    """The configured channel with this name."""
    return next((channel for channel in channels() if channel.name == name), None)


def is_reachable(recipient: str) -> bool:
    """Whether any channel but the log reaches a recipient."""
    return any(channel.name != "log" and channel.reaches(recipient) for channel in channels())
