"""Grouping: what one recipient is to be told on one channel at one time is one message."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2s

from .policy import NoticeStep, PlannedNotice

GROUP_WAIT = timedelta(seconds=15)
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def together(at: datetime) -> datetime:
    """The instant at which what happens about now goes out: the next quarter of a minute.

    Alerts that are released at once are decided one after the other, by several workers; their notices are one message
    only if they are due at one instant.
    """
    return at + (EPOCH - at) % GROUP_WAIT


@dataclass(frozen=True, kw_only=True)
class Group:
    """Notices that go out together; the key is the notice's own where there is one, else follows from theirs."""

    key: str
    recipient: str
    channel: str
    place: str
    notices: tuple[PlannedNotice, ...]


def group(notices: Iterable[PlannedNotice]) -> tuple[Group, ...]:
    """The notices to be sent, grouped by recipient and channel; the same notices give the same keys in any order."""
    by_address: dict[tuple[str, str, str], list[PlannedNotice]] = {}
    for notice in sorted(notices, key=lambda notice: notice.key):
        if notice.step is NoticeStep.SEND:
            by_address.setdefault((notice.recipient, notice.channel, notice.place), []).append(notice)
    return tuple(
        Group(key=_key(members), recipient=recipient, channel=channel, place=place, notices=tuple(members))
        for (recipient, channel, place), members in sorted(by_address.items())
    )


def _key(members: list[PlannedNotice]) -> str:
    if len(members) == 1:
        return members[0].key
    digest = blake2s("\n".join(member.key for member in members).encode(), digest_size=16)
    return f"group:{digest.hexdigest()}"
