"""Tell a service outside that the scheduler lives: it notices silence even where nothing of ours runs any more."""

import time
from threading import Thread

import structlog

from assay.config import config
from assay.edge.destination import DestinationRules, UnableToCall, rules_for
from assay.edge.outbound import call

log = structlog.get_logger(__name__)

EVERY = 60.0  # seconds
SECONDS = 5.0  # for one call


class Pinger:
    """Calls ``ASSAY_HEARTBEAT_URL`` at most once a minute, from a thread: a slow receiver keeps no sweep waiting."""

    def __init__(self) -> None:
        """One that has not called yet."""
        self._called_at: float | None = None
        self._calling: Thread | None = None

    def call(self) -> None:
        """Start a call, unless there is no URL, the last was less than a minute ago or still goes on."""
        url, now = config().heartbeat_url.get_secret_value(), time.monotonic()
        if not url or (self._called_at is not None and now - self._called_at < EVERY):
            return
        if self._calling is not None and self._calling.is_alive():
            return
        self._called_at = now
        self._calling = Thread(target=ping, args=(url,), name="heartbeat to outside", daemon=True)
        self._calling.start()


def rules(url: str) -> DestinationRules:
    """What a heartbeat may call: its own host, which may be a machine beside ours."""
    return rules_for(url, permits_private=True)


def ping(url: str) -> bool:
    """Whether the receiver took it; a failure is only logged, without the URL, which is a secret to most receivers."""
    try:
        why = str(call("GET", url, rules=rules(url), seconds=SECONDS))
    except UnableToCall as unable:
        why = str(unable)
    if not (took := why[:1] == "2"):
        log.warning("heartbeat not taken", why=why)
    return took
