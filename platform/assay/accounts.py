"""People and services: members and their teams, tokens, and the audit of every change.

What each of them may do is in ``access``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.db import transaction

from assay.catalog.selectors import owned

from . import clock
from .access import Person, Role, may_read
from .models import AccessToken, AuditEntry, Dataset, Member

# Write what was changed, in the transaction that changes it.

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
    details: Mapping[str, Any] | None = None,
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
        given=dict(details or {}),
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


# Give people and services their role, for the API and the command alike.

MEMBER_KIND = "member"


@transaction.atomic
def set_member(
    user: User,
    *,
    origin: RequestOrigin,
    role: Role | None = None,
    teams: Collection[str] | None = None,
    is_active: bool | None = None,
    hears_at_once: bool | None = None,
) -> dict[str, Any]:
    """The user as shown, with what is given changed; who is not active cannot sign in, and their tokens are refused."""
    before = member_as_json(user)
    member, _ = Member.objects.select_for_update().get_or_create(user=user)
    member.role = member.role if role is None else role.value
    member.teams = member.teams if teams is None else sorted(set(teams))
    member.hears_at_once = member.hears_at_once if hears_at_once is None else hears_at_once
    member.save()
    if is_active is not None and is_active != user.is_active:
        user.is_active = is_active
        user.save(update_fields=["is_active"])
    after = member_as_json(User.objects.select_related("member").get(pk=user.pk))
    record(origin, "member.set", kind=MEMBER_KIND, key=user.get_username(), before=before, after=after)
    return after


def person_called(name: str) -> Person:
    """The user or team of this name; a user whom nobody has let in counts as a viewer, the least of roles."""
    user = User.objects.select_related("member").filter(username=name, is_active=True).first()
    if user is None:
        return Person(name=name, teams=frozenset({name}))
    return person_of(user)


def person_of(user: User) -> Person:
    """A user with their teams and their role; a viewer's, if nobody gave one that is known."""
    is_now = member_as_json(user)
    role = Role(is_now["role"]) if is_now["role"] in set(Role) else Role.VIEWER
    return Person(name=is_now["name"], role=role, teams=frozenset(is_now["teams"]))


def member_as_json(user: User) -> dict[str, Any]:
    """What the admins see of a user; one without a row is a viewer of no team."""
    member = getattr(user, "member", None)
    role = Role.ADMIN.value if user.is_superuser else member.role if member else Role.VIEWER.value
    return {
        "name": user.get_username(),
        "role": role,
        "teams": list(member.teams) if member else [],
        "active": user.is_active,
        "superuser": user.is_superuser,
        "hears_at_once": bool(member and member.hears_at_once),
    }


# People follow datasets, and hear of their incidents at once or by the digest, as they wish.


def follow(user: User, dataset: Dataset) -> None:
    """From now on the user hears of the dataset's incidents."""
    Member.objects.get_or_create(user=user)[0].followed_datasets.add(dataset)


def unfollow(user: User, dataset: Dataset) -> None:
    """From now on the user hears no more of them."""
    Member.followed_datasets.through.objects.filter(member__user=user, dataset=dataset).delete()


def followers_at_once(dataset: Dataset) -> list[str]:
    """The names of those who follow a dataset, hear of its incidents at once, and may read it."""
    rows = User.objects.select_related("member").filter(member__followed_datasets=dataset, is_active=True)
    users = rows.filter(member__hears_at_once=True).order_by("username")
    return [user.get_username() for user in users if may_read(person_of(user), owned(dataset))]


# Make and revoke tokens, for the API and the command alike.

TOKEN_KIND = "token"


@transaction.atomic
def make_token(
    user: AbstractBaseUser, *, name: str, scopes: Collection[str], life: timedelta | None, origin: RequestOrigin
) -> tuple[AccessToken, str]:
    """The row and the token itself, which is told only now; without a life it ends when those of logins do."""
    until = {} if life is None else {"expiry": life}
    row, token = AccessToken.objects.create(user, **until, name=name, scopes=sorted(set(scopes)))
    record(origin, "token.create", kind=TOKEN_KIND, key=row.token_key, before=None, after=token_as_json(row))
    return row, token


@transaction.atomic
def revoke_token(row: AccessToken, *, origin: RequestOrigin, action: str = "token.revoke") -> None:
    """End a token."""
    record(origin, action, kind=TOKEN_KIND, key=row.token_key, before=token_as_json(row), after=None)
    row.delete()


def token_as_json(row: AccessToken) -> dict[str, Any]:
    """What everyone who may list a token sees of it: its id is the beginning of the token, the rest is kept nowhere."""
    return {
        "id": row.token_key,
        "user": row.user.get_username(),
        "name": row.name,
        "scopes": row.scopes,
        "created": row.created,
        "expiry": row.expiry,
        "last_used_at": row.last_used_at,
    }
