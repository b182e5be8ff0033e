"""Find what is pending and unclaimed, and tell the workers to look; what a lost message left is found here."""

import time
from contextlib import suppress
from threading import Thread
from typing import Any

import structlog
from celery.signals import task_success
from kombu.exceptions import ChannelError, OperationalError

from assay import clock
from assay.celery import app, hint, queue_name
from assay.config import config
from assay.edge.destination import DestinationRules, UnableToCall, rules_for
from assay.edge.outbound import call
from assay.queue.claims import pending, unleased
from assay.queue.drain import stages_with_work
from assay.queue.flow import Stage

log = structlog.get_logger(__name__)

MOST_WAITING = 40  # hints in one queue; more would say nothing new, and would pile up where no worker takes them
TELL_AGAIN_AFTER = 0.2  # seconds; of a worker that looks on after each of its tasks
hint_times: dict[tuple[str, str], float] = {}  # of the monotonic clock, by stage and datacenter


def sweep(*, unless_told_within: float = 0.0) -> int:
    """Send one hint per stage (and datacenter) with claimable rows; how many were sent.

    Of what this process has told within so many seconds it does not tell again: a worker of that may be on its way.
    Where the broker is away, or full, the rows wait in the database for the next sweep.
    """
    before = time.monotonic() - unless_told_within
    now, real_now = clock.now(), clock.database_now()
    places: list[tuple[Stage, str]] = []  # with the datacenter of the rows where that matters
    for stage in stages_with_work(now):
        rows = pending(stage, now).filter(unleased(real_now))
        if stage.by_datacenter:
            datacenters = rows.order_by().values_list("datacenter", flat=True).distinct()
            places += [(stage, datacenter) for datacenter in datacenters]
        elif rows.exists():
            places.append((stage, ""))
    claimable = [(stage, place) for stage, place in places if hint_times.get((stage.name, place), 0.0) <= before]
    if not claimable:
        return 0
    with app.connection_for_write() as broker:
        lost: tuple[type[BaseException], ...] = (OperationalError, *broker.connection_errors, *broker.channel_errors)
        try:
            full = set()
            for queue in {queue_name(*place) for place in claimable}:
                with suppress(ChannelError):  # nothing was ever sent to it
                    declared = broker.default_channel.queue_declare(queue=queue, passive=True)  # type: ignore[attr-defined]
                    full |= {queue} if declared.message_count >= MOST_WAITING else set()
            hints = [place for place in claimable if queue_name(*place) not in full]
            for stage, datacenter in hints:
                hint(stage, datacenter)
                hint_times[stage.name, datacenter] = time.monotonic()
            return len(hints)
        except lost as error:
            log.warning("hints not sent", stages=[stage.name for stage, _ in claimable], why=str(error))
            return 0


@task_success.connect
def look_on(result: Any = None, **_: Any) -> None:
    """A worker that has found work tells of what that left to do, without waiting for the next sweep."""
    if result:
        sweep(unless_told_within=TELL_AGAIN_AFTER)


# Tell a service outside that the scheduler lives: it notices silence even where nothing of ours runs any more.

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
