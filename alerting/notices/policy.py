"""Notices: who is told of an alert, when, and why somebody is not. One row per event and channel, always."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import blake2s

from alerting.inhibition.rules import AlertAction, Decision, Why
from alerting.routes import QuietHours
from execution_engine.outcome import TRANSIENT, WITHOUT_ROWS, Reason

# Who is told that a standing could not be judged.


class Audience(StrEnum):
    """To whom a notice goes."""

    OWNER = "owner"
    ON_CALL = "on-call"
    NOBODY = "nobody"


def audience_of_unknown(reason: Reason | None, *, freshness_broken: bool) -> Audience:
    """Who hears of an UNKNOWN with this cause; None, a run that gave nothing at all, is the platform's own fault."""
    says_late = freshness_broken and reason in WITHOUT_ROWS
    if says_late or reason in (Reason.NOT_DUE, Reason.WARMING_UP):
        return Audience.NOBODY
    return Audience.ON_CALL if reason is None or reason in TRANSIENT else Audience.OWNER


class Event(StrEnum):
    """What a notice tells."""

    OPENED = "opened"
    ALSO_FAILS = "also fails"  # one more test, in an incident that is open
    DOWNSTREAM = "downstream"
    FOLLOWED = "followed"  # the same, for those who follow the dataset
    RECOVERED = "recovered"
    WITHDRAWN = "withdrawn"
    UPDATED = "updated"  # what an open cause has grown to
    UNKNOWN = "unknown"  # a test that could not be judged
    KNOWN_AGAIN = "known again"  # and is judged after all
    GAPS = "gaps"  # standard tests that cannot be written
    REPORTED = "reported"  # a user's claim, and what became of it
    OVERRIDDEN = "overridden"  # somebody lets pipelines read what the gate blocks
    PLATFORM = "platform"  # a fault of Assay itself
    PROGRESS = "progress"  # a new ETA: for channels that can change what they sent
    ACKNOWLEDGED = "acknowledged"  # somebody works on it: for the same channels
    DIGEST = "digest"  # a team's week
    VITAL_SIGN = "vital sign"  # a table that is read much is late, or its load unusual
    ASSIGNED = "assigned"  # somebody asks the recipient to work on it


class NoticeStep(StrEnum):
    """What to do with a notice now."""

    SEND = "send"
    WAIT = "wait"
    SUPPRESS = "suppress"


class Hush(StrEnum):
    """Why a notice waits or was suppressed; the text is what users read."""

    WITHIN_GRACE = "resolved within grace"
    INHIBITED = "inhibited by its cause"
    SILENCED = "silenced"
    QUIET = "within quiet hours"
    TOO_LATE = "resolved before it could be sent"
    ALREADY_TOLD = "already told"
    NEVER_TOLD = "never told of the incident"
    NO_CHANNEL = "no reachable channel"
    OF_THE_PAST = "of the past: found by a back-fill that somebody asked for"
    REASSIGNED = "given to somebody else before"


NO_CHANNEL = "none"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Somebody on one channel, such as ``team-trips`` on ``email``; without a channel they cannot be reached.

    ``place``: what the channel calls them, where it is not their name; ``quiet``: when soft notices wait. Neither makes
    another address of it: whoever was told stays told though their route changes.
    """

    recipient: str
    channel: str | None
    place: str = field(default="", compare=False)
    quiet: QuietHours | None = field(default=None, compare=False)

    @property
    def where(self) -> tuple[str | None, str]:
        """The place that a message arrives at: two people may share it."""
        return self.channel, self.place or self.recipient


@dataclass(frozen=True, kw_only=True)
class SilencedTime:
    """A stretch ``[start, end)`` in which a recipient (None: anybody) is not to be told of this alert."""

    start: datetime
    end: datetime
    recipient: str | None = None

    def covers(self, recipient: str, instant: datetime) -> bool:
        """Whether it keeps this recipient undisturbed at the instant."""
        return self.recipient in (None, recipient) and self.start <= instant < self.end


@dataclass(frozen=True, kw_only=True)
class NewTests:
    """Tests that fail, and of which an address has read nothing; ``since`` is when the first began to fail."""

    tests: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    """What the plan of an alert's notices rests on.

    ``incident_key`` names one open episode of the incident: a re-opened one has another. ``addressees`` are those whose
    opening notice was handed out before, ``assignees`` those of people asked to work on it. ``cause_recipients`` know
    of its root cause, and ``twin_recipients`` of the same rows under another alert, which ``twin_key`` names.
    ``new_tests`` are those that addresses that were told have not read of.
    """

    incident_key: str
    opened_at: datetime
    grace: timedelta
    owner: tuple[Address, ...]
    downstream: tuple[Address, ...] = ()
    followers: tuple[Address, ...] = ()
    decision: Decision
    silences: tuple[SilencedTime, ...] = ()
    addressees: frozenset[Address] = frozenset()
    assignees: frozenset[Address] = frozenset()
    cause_recipients: frozenset[str] = frozenset()
    twin_recipients: frozenset[str] = frozenset()
    twin_key: str = ""
    closed_at: datetime | None = None
    withdrawn: bool = False
    tier: int = 0
    is_soft: bool = False  # no hard test of it fails: quiet hours hold its notices back
    new_tests: Mapping[Address, NewTests] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PlannedNotice:
    """One row: an event for one recipient on one channel; ``due_at`` is when it goes out, or would have gone."""

    key: str
    event: Event
    recipient: str
    channel: str
    due_at: datetime
    step: NoticeStep
    reason: Hush | None = None
    place: str = ""


def plan_notices(alert: AlertFacts, *, now: datetime) -> tuple[PlannedNotice, ...]:
    """Every notice of the alert with what to do with it now; planned again at any later time, keys stay the same."""
    openings, recipients = list[PlannedNotice](), set[str]()  # who is told as the owner is not told again as a follower
    for event, addresses in (
        (Event.OPENED, alert.owner),
        (Event.DOWNSTREAM, alert.downstream),
        (Event.FOLLOWED, alert.followers),
    ):
        for address in dict.fromkeys(addresses):
            opening = _opening(alert, event, address, now)
            openings.append(_suppressed(opening, Hush.ALREADY_TOLD) if address.recipient in recipients else opening)
        recipients |= {address.recipient for address in addresses}
    if alert.closed_at is None:
        additions = []  # to each of the owner's addresses that were told: the tests that have begun to fail since
        for address, new in ((address, alert.new_tests.get(address)) for address in dict.fromkeys(alert.owner)):
            if new is not None and address in alert.addressees:
                due_at, reason = _due(alert, address, new.since)
                digest = blake2s("\n".join(sorted(new.tests)).encode(), digest_size=8).hexdigest()
                notice = _notice(alert, Event.ALSO_FAILS, address, due_at, of=f"{digest}:")
                is_due = now >= due_at
                additions.append(notice if is_due else replace(notice, step=NoticeStep.WAIT, reason=reason))
        return (*_once_per_place(openings), *_once_per_place(additions))
    # one closing per address: sent to all who were told and only to them, silence or not, after quiet hours
    event = Event.WITHDRAWN if alert.withdrawn else Event.RECOVERED
    notified = alert.addressees | alert.assignees
    closings = []
    for address in dict.fromkeys((*alert.owner, *alert.downstream, *sorted(notified, key=str))):
        closing = _notice(alert, event, address, _audible_at(alert, address, alert.closed_at))
        closings.append(closing if address in notified else _suppressed(closing, Hush.NEVER_TOLD))
    return (*_once_per_place(openings), *_once_per_place(closings))


def _once_per_place(notices: Iterable[PlannedNotice]) -> Iterator[PlannedNotice]:
    """One place is told once, whoever stands behind it: what others would hear there follows the first."""
    first: dict[tuple[str, str], PlannedNotice] = {}
    for notice in notices:
        if notice.step is NoticeStep.SUPPRESS and notice.reason is not Hush.ALREADY_TOLD:
            yield notice
            continue
        leader = first.setdefault((notice.channel, notice.place or notice.recipient), notice)
        if leader is notice:
            yield notice
        elif leader.step is NoticeStep.WAIT:
            yield replace(notice, step=leader.step, due_at=leader.due_at, reason=leader.reason)
        else:
            yield _suppressed(notice, Hush.ALREADY_TOLD)


def _opening(alert: AlertFacts, event: Event, address: Address, now: datetime) -> PlannedNotice:
    due_at, reason = _due(alert, address, alert.opened_at)
    notice = _notice(alert, event, address, due_at)
    if address in alert.addressees:
        return notice
    if address.channel is None:
        return _suppressed(notice, Hush.NO_CHANNEL)
    if alert.decision.why is Why.OF_THE_PAST:
        # Under a key of its own: once a window fails that is not of the past, this alert may speak yet.
        return _suppressed(replace(notice, key=f"{notice.key}:past"), Hush.OF_THE_PAST)
    if alert.decision.why is Why.CAUSE_OUTLASTED and address.recipient in alert.cause_recipients:
        return _suppressed(notice, Hush.ALREADY_TOLD)
    if alert.decision.action is AlertAction.NOTIFY and address.recipient in alert.twin_recipients:
        # Under a key of its own: should the twin end first, this alert may speak yet.
        return _suppressed(replace(notice, key=f"{notice.key}:{alert.twin_key}"), Hush.ALREADY_TOLD)
    if alert.closed_at is not None:
        return _suppressed(notice, reason if alert.closed_at <= due_at else Hush.TOO_LATE)
    return notice if now >= due_at else replace(notice, step=NoticeStep.WAIT, reason=reason)


def _due(alert: AlertFacts, address: Address, since: datetime) -> tuple[datetime, Hush]:
    """When that which fails since an instant may be told, and what holds it back until then."""
    due_at, reason = since + alert.grace, Hush.WITHIN_GRACE
    until = alert.decision.until
    if alert.decision.action is not AlertAction.NOTIFY and until is not None and until > due_at:
        due_at, reason = until, Hush.INHIBITED
    for silence in sorted(alert.silences, key=lambda silence: silence.start):
        if silence.covers(address.recipient, due_at):
            due_at, reason = silence.end, Hush.SILENCED
    if (audible_at := _audible_at(alert, address, due_at)) > due_at:
        due_at, reason = audible_at, Hush.QUIET
    return due_at, reason


def _audible_at(alert: AlertFacts, address: Address, at: datetime) -> datetime:
    """From when on an address may be told: a soft notice waits till its quiet hours end, a hard one never."""
    return address.quiet.heard(at, tier=alert.tier) if address.quiet and alert.is_soft else at


def _notice(alert: AlertFacts, event: Event, address: Address, due_at: datetime, of: str = "") -> PlannedNotice:
    channel = address.channel or NO_CHANNEL
    return PlannedNotice(
        key=f"{alert.incident_key}:{of}{event.value}:{channel}:{address.recipient}",
        event=event,
        recipient=address.recipient,
        channel=channel,
        due_at=due_at,
        step=NoticeStep.SEND,
        place=address.place,
    )


def _suppressed(notice: PlannedNotice, reason: Hush) -> PlannedNotice:
    return replace(notice, step=NoticeStep.SUPPRESS, reason=reason)


# Grouping: what one recipient is to be told on one channel at one time is one message.

GROUP_WAIT = timedelta(seconds=15)
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def together(at: datetime) -> datetime:
    """The instant at which what happens about now goes out: the next quarter of a minute.

    Alerts that are released at once are decided one after the other, by several workers; their notices are one message
    only if they are due at one instant.
    """
    return at + (EPOCH - at) % GROUP_WAIT


def message_key(keys: Iterable[str]) -> str:
    """Of notices that go out together: the notice's own where there is one, else it follows from theirs."""
    ordered = sorted(keys)
    if len(ordered) == 1:
        return ordered[0]
    digest = blake2s("\n".join(ordered).encode(), digest_size=16)
    return f"group:{digest.hexdigest()}"
