"""Notices in the log: always there, so that nothing is ever told to nobody."""

import structlog

from alerting.state import LOG
from assay.edge.logs import NOTICES

from .base import ChannelMessage, TellsAll

log = structlog.get_logger(NOTICES)


class LogChannel(TellsAll):
    """Writes each notice as one event of the structured log."""

    name = LOG

    def reaches(self, recipient: str) -> bool:
        """Always."""
        return True

    def send(self, message: ChannelMessage) -> str:
        """One line in the log."""
        log.info("notice", key=message.key, recipient=message.recipient, subject=message.subject)
        return ""

    def try_out(self) -> None:
        """There is nothing that could fail."""
