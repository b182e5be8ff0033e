"""Write what was changed, in the transaction that changes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from assay import clock
from assay.models import AuditEntry

LONGEST = 250  # characters of an object's id


class UnableToAudit(RuntimeError):
    """A change outside any transaction: its entry could be lost."""


@dataclass(frozen=True, kw_only=True)
class RequestOrigin:
    """Who asked for a change, and from where."""

    actor: str
    via: str
    ip: str = ""
    request_id: str = ""


def record(
    origin: RequestOrigin,
    action: str,
    *,
    kind: str,
    key: object,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    given: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """The entry, with only what differs between the two; raises UnableToAudit."""
    if not transaction.get_connection().in_atomic_block:
        raise UnableToAudit(f"{action} of {kind} {key} is outside a transaction: put both into one.")
    old, new = differences(before, after)
    return AuditEntry.objects.create(
        at=clock.database_now(),
        actor=origin.actor,
        via=origin.via,
        action=action,
        object_kind=kind,
        object_id=str(key)[:LONGEST],
        before=old,
        after=new,
        given=dict(given or {}),
        ip=origin.ip,
        request_id=origin.request_id,
    )


def differences(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The fields that are another after a change, before and after it; of what began or ended all fields."""
    if before is None or after is None:
        return (None if before is None else dict(before)), (None if after is None else dict(after))
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in changed}, {name: after.get(name) for name in changed}
