"""Send what is due: one message per recipient and channel, at least once, with the sending outside any transaction.

What a message holds is written down before it is sent: whatever its worker dies of, and however often the receiver
refuses it, it comes again as the same message under the same key. Its first notice leads: only that one is claimed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import blake2s
from operator import attrgetter
from typing import Any, cast

import structlog
from django.db.models import Exists, OuterRef, Q
from django.utils.module_loading import import_string

from alerting.channels import Channel, ChannelMessage, NoticePart, Picture, TransportError, channel
from alerting.models import Notice, Post
from assay import clock
from assay.models import Tallied
from assay.queue.claims import UnableToFinish, claims, extend, finish, heartbeat, in_transaction, tally
from assay.queue.flow import stage
from assay.time.durations import doubled

from .messages import Message, digest
from .policy import Event, message_key

log = structlog.get_logger(__name__)

MOST_FAILURES = 10
FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=1)
BATCH = 40
MOST_PICTURES = 3  # of a message, as each takes a moment to draw
CHART = "web.pages.incident_chart.picture_for"  # a name, as in the flow: pages and messages show one chart
HEARD = frozenset(  # though the message is only changed
    {Event.ALSO_FAILS, Event.RECOVERED, Event.WITHDRAWN, Event.ASSIGNED}
)

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
        # first tries due at one instant go out together; what was tried before, as it was then
        messages: dict[tuple[object, ...], list[Notice]] = defaultdict(list)
        for row in [*leaders, *_followers(leaders)]:
            messages[row.due_at, row.sent_with, row.recipient, row.channel, row.address].append(row)
        for rows in messages.values():
            _send(sorted(rows, key=attrgetter("key")), now)
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


def _send(rows: Sequence[Notice], now: datetime) -> None:
    try:
        in_transaction(lambda: _begin(rows))
        with heartbeat(rows[0]):
            error = deliver(rows)
        in_transaction(lambda: _settle(rows, error, now))
    except UnableToFinish as lost:
        log.warning("lease lost", stage="send", key=message_key(row.key for row in rows), why=str(lost))


def _begin(rows: Sequence[Notice]) -> None:
    """From here on these go out together, under the lease of the first, made new: those before may have taken long."""
    leader, *others = rows
    if not extend(leader):
        raise UnableToFinish(f"notice {leader.pk}: claimed again since epoch {leader.epoch}")
    for row in rows:
        row.sent_with = leader.key
        release = {"lease_until": None, "attempts": 0} if row in others else {}
        if Notice.objects.filter(pk=row.pk, epoch=row.epoch).update(sent_with=leader.key, **release) != 1:
            raise UnableToFinish(f"notice {row.pk}: claimed again since epoch {row.epoch}")


def deliver(rows: Sequence[Notice]) -> TransportError | None:
    """Hand notices to their channel as one message; the error, if it was not delivered.

    Where messages can be changed, those that are there already are, and what is new is one message more.
    """
    through = channel(rows[0].channel)
    if through is None:
        return TransportError(f"channel {rows[0].channel!r} is not configured any more", permanent=True)
    key = message_key(row.key for row in rows)
    try:
        if not through.edits:
            through.send(_message(through, key, rows))
            return None
        posts = Post.objects.filter(channel=rows[0].channel, recipient=rows[0].recipient)
        alerts = {row.alert_id for row in rows} - {None}
        places = dict(posts.filter(alert__in=alerts).values_list("alert", "place"))
        by_place: dict[str, list[Notice]] = defaultdict(list)
        for row in rows:
            by_place[places.get(row.alert_id or 0, "")].append(row)
        for place, new in sorted(by_place.items()):
            if now_at := through.send(_changed_message(through, key, new, place)):
                remember(new, place, now_at)
    except TransportError as error:
        return error
    return None


def _changed_message(through: Channel, key: str, new: Sequence[Notice], place: str) -> ChannelMessage:
    """The newest notice of each alert of a message, in the order of alerts, and all that are of none.

    What was sent before of the alerts that share the message is in it too; a late notice changes nothing.
    """
    rows = list(new)
    if place:
        of_recipient = {"channel": new[0].channel, "recipient": new[0].recipient}
        alerts = Post.objects.filter(**of_recipient, place=place).values("alert")
        before = Notice.objects.filter(alert__in=alerts, **of_recipient, sent_at__isnull=False)
        rows += before.exclude(pk__in=[row.pk for row in new])
    newest = {row.alert_id or -row.pk: row for row in sorted(rows, key=attrgetter("pk"))}
    reply = "; ".join(row.subject for row in new if row.event in HEARD)
    return _message(through, key, [newest[number] for number in sorted(newest)], place, reply)


def _message(through: Channel, key: str, rows: Sequence[Notice], place: str = "", reply: str = "") -> ChannelMessage:
    newest = {row.alert_id: row.pk for row in rows if row.alert_id} if through.has_pictures else {}
    pictured = list(newest.values())[:MOST_PICTURES]
    text = digest([Message(title=row.subject, body=row.body) for row in rows])
    return ChannelMessage(
        key=f"{key}:{blake2s(place.encode(), digest_size=4).hexdigest()}" if place else key,
        recipient=rows[0].recipient,
        address=rows[0].address,
        subject=text.title,
        body=text.body,
        facts=tuple({"key": row.key, **row.facts} for row in rows),
        parts=tuple(
            NoticePart(
                title=row.subject,
                body=row.body,
                facts={"event": row.event, **row.facts},
                picture=_picture(row, through) if row.pk in pictured else None,
            )
            for row in rows
        ),
        html=rows[0].html if len(rows) == 1 else "",
        earlier=place,
        reply=reply,
    )


def _picture(row: Notice, through: Channel) -> Picture | None:
    """The chart of what a notice is about, as it is now; one that cannot be drawn holds no message back."""
    try:
        chart = import_string(CHART)(row.alert_id, row.recipient, is_drawn=through.brings_pictures)
        return cast(Picture | None, chart)
    except Exception:
        log.exception("chart cannot be drawn", alert=row.alert_id)
        return None


def remember(rows: Sequence[Notice], place: str, now_at: str) -> None:
    """Write down where the message of each alert lives now, as soon as the channel has said it.

    If the worker dies before, the message is posted a second time under the same key; then the second one is changed.
    """
    of_recipient: dict[str, Any] = {"channel": rows[0].channel, "recipient": rows[0].recipient}
    if place and place != now_at:  # it was gone, and posted anew with all that it held
        Post.objects.filter(**of_recipient, place=place).update(place=now_at)
    for alert in {row.alert_id for row in rows if row.alert_id is not None}:
        Post.objects.update_or_create(alert_id=alert, **of_recipient, defaults={"place": now_at})


def _settle(rows: Iterable[Notice], error: TransportError | None, now: datetime) -> None:
    """Note what became of each: it is tried again later, or given up: settled without ``sent_at``, a dead letter."""
    for row in rows:
        failures = row.failures + 1
        if error is None:
            finish(row, sent_at=now, settled_at=now, error="")
            tally(Tallied.NOTICES, row.delivery.value)
        elif error.permanent or failures >= MOST_FAILURES:
            details = {"notice": row.pk, "alert": row.alert_id, "key": row.key}
            log.error("notice given up", **details, error=str(error), failures=failures)
            finish(row, failures=failures, error=str(error), settled_at=now)
            tally(Tallied.NOTICES, "dead")
        else:
            wait = max(retry_after(failures), error.wait or timedelta())
            finish(row, failures=failures, error=str(error), due_at=now + wait)


def retry_after(failures: int) -> timedelta:
    """How long to wait after so many failures: a minute, doubled each time, at most an hour."""
    return doubled(FIRST_RETRY, failures - 1, most=LONGEST_RETRY)
