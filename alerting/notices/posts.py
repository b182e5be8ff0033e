"""One message for an incident, where a channel can change what it sent: where it lives, and what it holds now.

Where a message lives is written down as soon as the channel has said it. If the worker dies in between, the message is
posted a second time under the same key; from then on the second one is changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2s

from alerting.channels import ChannelMessage, Part
from alerting.models import Notice, Post

from .grouping import Group
from .messages import Message as Text
from .messages import digest
from .policy import Event

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
