"""Notices in the log: always there, so that nothing is ever told to nobody."""

import structlog

from alerting.state import LOG
from assay.edge.logs import NOTICES

from .base import Channel, ChannelMessage

log = structlog.get_logger(NOTICES)


class LogChannel(Channel):
    """Writes each notice as one event of the structured log."""

    name = LOG
    takes_any_name = True

    def send(self, message: ChannelMessage) -> str:
        """One line in the log."""
        log.info("notice", key=message.key, recipient=message.recipient, subject=message.subject)
        return ""
