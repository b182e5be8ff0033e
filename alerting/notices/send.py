"""Send what is due: one message per recipient and channel, at least once, with the sending outside any transaction.

What a message holds is written down before it is sent: whatever its worker dies of, and however often the receiver
refuses it, it comes again as the same message under the same key. Its first notice leads: only that one is claimed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2s

import structlog
from django.db.models import Exists, OuterRef, Q

from alerting.channels import ChannelMessage, Part, TransportError, channel
from alerting.models import Notice, Post
from assay import clock
from assay.models import Tallied
from assay.queue.claims import UnableToFinish, claims, extend, finish, heartbeat, in_transaction, tally
from assay.queue.flow import stage
from assay.time.durations import doubled

from .messages import Message as Text
from .messages import digest
from .policy import Event, Group, NoticeStep, PlannedNotice, group

# One message for an incident, where a channel can change what it sent: where it lives, and what it holds now.
#
# Where a message lives is written down as soon as the channel has said it. If the worker dies in between, the message
# is
# posted a second time under the same key; from then on the second one is changed.

HEARD = frozenset(
    {Event.ALSO_FAILS, Event.RECOVERED, Event.WITHDRAWN, Event.ASSIGNED}
)  # though the message is only changed


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message to hand to a channel, and the notices for which it is sent."""

    message: ChannelMessage
    channel: str
    notices: tuple[Notice, ...]
    can_change: bool


def to_send(group: Group, rows: Sequence[Notice], *, edits: bool) -> Iterator[Outgoing]:
    """The group as one message; where messages can be changed, one for each that is there already, and a new one."""
    if not edits:
        yield Outgoing(message=_message(group, rows), channel=group.channel, notices=tuple(rows), can_change=False)
        return
    known = _places(group, [row.alert_id for row in rows])
    by_place: dict[str, list[Notice]] = defaultdict(list)
    for row in rows:
        by_place[known.get(row.alert_id or 0, "")].append(row)
    for place, told in sorted(by_place.items()):
        shown = _newest([*(_others(group, place, told) if place else ()), *told])
        message = _message(group, shown, place, [row.subject for row in told if row.event in HEARD])
        yield Outgoing(message=message, channel=group.channel, notices=tuple(told), can_change=True)


def remember(sent: Outgoing, place: str) -> None:
    """Write down where the message of each alert lives now."""
    if not sent.can_change or not place:
        return
    was = sent.message.earlier
    if was and was != place:  # it was gone, and posted anew with all that it held
        Post.objects.filter(channel=sent.channel, recipient=sent.message.recipient, place=was).update(place=place)
    for alert in {row.alert_id for row in sent.notices if row.alert_id is not None}:
        Post.objects.update_or_create(
            alert_id=alert, channel=sent.channel, recipient=sent.message.recipient, defaults={"place": place}
        )


def _places(group: Group, alerts: Iterable[int | None]) -> dict[int, str]:
    """Where the messages of these alerts live, for this recipient on this channel."""
    posts = Post.objects.filter(channel=group.channel, recipient=group.recipient, alert__in=set(alerts) - {None})
    return dict(posts.values_list("alert", "place"))


def _others(group: Group, place: str, told: Sequence[Notice]) -> list[Notice]:
    """What was sent before of the alerts that share a message."""
    shared = Post.objects.filter(channel=group.channel, recipient=group.recipient, place=place)
    return list(
        Notice.objects.filter(
            alert__in=shared.values("alert"),
            channel=group.channel,
            recipient=group.recipient,
            sent_at__isnull=False,
        ).exclude(pk__in=[row.pk for row in told])
    )


def _newest(rows: Iterable[Notice]) -> list[Notice]:
    """The newest notice of each alert, in the order of alerts, and all that are of none: a late one changes nothing."""
    found = {row.alert_id or -row.pk: row for row in sorted(rows, key=lambda row: row.pk)}
    return [found[key] for key in sorted(found)]


def _message(group: Group, rows: Sequence[Notice], place: str = "", heard: Sequence[str] = ()) -> ChannelMessage:
    text = digest([Text(title=row.subject, body=row.body) for row in rows])
    return ChannelMessage(
        key=f"{group.key}:{blake2s(place.encode(), digest_size=4).hexdigest()}" if place else group.key,
        recipient=group.recipient,
        address=group.place,
        subject=text.title,
        body=text.body,
        facts=tuple({"key": row.key, **row.facts} for row in rows),
        parts=tuple(Part(title=row.subject, body=row.body, facts={"event": row.event, **row.facts}) for row in rows),
        html=rows[0].html if len(rows) == 1 else "",
        earlier=place,
        reply="; ".join(heard),
    )


log = structlog.get_logger(__name__)

MOST_FAILURES = 10
FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=1)
BATCH = 40

# Of those that went out in a message before, and of those that are to go out in one, only the first leads. Else what
# one recipient is told would be as many messages as there are batches and workers.
_FIRST = Notice.objects.filter(key=OuterRef("sent_with"), settled_at=None).exclude(pk=OuterRef("pk"))
_BEFORE = Notice.objects.filter(
    settled_at=None,
    due_at=OuterRef("due_at"),
    recipient=OuterRef("recipient"),
    channel=OuterRef("channel"),
    address=OuterRef("address"),
    sent_with="",
    pk__lt=OuterRef("pk"),
)
LEADS = ~Exists(_FIRST) & (Q(~Q(sent_with="")) | ~Exists(_BEFORE))


def send_due(limit: int = BATCH) -> int:
    """Send the notices that are due, grouped; the number that were claimed, of each message the first."""
    now, total = clock.now(), 0
    for leaders in claims(stage("send"), now=now, limit=limit, may=LEADS):
        by_key: dict[str, Notice] = {row.key: row for row in [*leaders, *_followers(leaders)]}
        for message in _grouped(by_key.values()):
            _send(message, [by_key[notice.key] for notice in message.notices], now)
        total += len(leaders)
    return total


def _followers(leaders: Sequence[Notice]) -> Iterator[Notice]:
    """The notices that went out together with these before, and were not settled, or that go out together now."""
    before = [row.key for row in leaders if row.sent_with]
    if before:
        yield from Notice.objects.filter(sent_with__in=before, settled_at=None).exclude(key__in=before)
    fresh = {(row.due_at, row.recipient, row.channel, row.address) for row in leaders if not row.sent_with}
    if not fresh:
        return
    due, recipients, names, _ = map(set, zip(*fresh, strict=True))
    waiting = Notice.objects.filter(settled_at=None, sent_with="", due_at__in=due, recipient__in=recipients)
    for row in waiting.filter(channel__in=names).exclude(pk__in=[row.pk for row in leaders]).order_by("pk"):
        if (row.due_at, row.recipient, row.channel, row.address) in fresh:
            yield row


def _grouped(rows: Iterable[Notice]) -> list[Group]:
    """First tries due at one instant go out together; what was tried before, as it was then."""
    batches: dict[tuple[datetime, str], list[PlannedNotice]] = defaultdict(list)
    for row in rows:
        batches[row.due_at, row.sent_with].append(
            PlannedNotice(
                key=row.key,
                event=Event(row.event),
                recipient=row.recipient,
                channel=row.channel,
                due_at=row.due_at,
                step=NoticeStep.SEND,
                place=row.address,
            )
        )
    return [message for batch in batches.values() for message in group(batch)]


def _send(message: Group, rows: Sequence[Notice], now: datetime) -> None:
    try:
        in_transaction(lambda: _begin(rows))
        with heartbeat(rows[0]):
            error = deliver(message, rows)
        in_transaction(lambda: _settle(rows, error, now))
    except UnableToFinish as lost:
        log.warning("lease lost", stage="send", key=message.key, why=str(lost))


def _begin(rows: Sequence[Notice]) -> None:
    """From here on these go out together, under the lease of the first, made new: those before may have taken long."""
    leader, *others = rows
    if not extend(leader):
        raise UnableToFinish(f"notice {leader.pk}: claimed again since epoch {leader.epoch}")
    for row in rows:
        row.sent_with = leader.key
        given = {"lease_until": None, "attempts": 0} if row in others else {}
        if Notice.objects.filter(pk=row.pk, epoch=row.epoch).update(sent_with=leader.key, **given) != 1:
            raise UnableToFinish(f"notice {row.pk}: claimed again since epoch {row.epoch}")


def deliver(message: Group, rows: Sequence[Notice]) -> TransportError | None:
    """Hand a group to its channel; the error, if it was not delivered."""
    through = channel(message.channel)
    if through is None:
        return TransportError(f"channel {message.channel!r} is not configured any more", permanent=True)
    try:
        for sent in to_send(message, rows, edits=through.edits):
            remember(sent, through.send(sent.message))
    except TransportError as error:
        return error
    return None


def _settle(rows: Iterable[Notice], error: TransportError | None, now: datetime) -> None:
    for row in rows:
        if error is None:
            finish(row, sent_at=now, settled_at=now, error="")
            tally(Tallied.NOTICES, row.delivery.value)
        else:
            _note_failure(row, error, now)


def _note_failure(row: Notice, error: TransportError, now: datetime) -> None:
    """Try again later, or give up: a settled notice without ``sent_at`` is a dead letter."""
    failures = row.failures + 1
    if error.permanent or failures >= MOST_FAILURES:
        log.error(
            "notice given up", notice=row.pk, alert=row.alert_id, key=row.key, error=str(error), failures=failures
        )
        finish(row, failures=failures, error=str(error), settled_at=now)
        tally(Tallied.NOTICES, "dead")
        return
    wait = max(retry_after(failures), error.wait or timedelta())
    finish(row, failures=failures, error=str(error), due_at=now + wait)


def retry_after(failures: int) -> timedelta:
    """How long to wait after so many failures: a minute, doubled each time, at most an hour."""
    return doubled(FIRST_RETRY, failures - 1, most=LONGEST_RETRY)
