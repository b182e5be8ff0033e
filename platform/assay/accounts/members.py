"""Give people and services their role, for the API and the command alike."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from assay.access.roles import Person, Role
from assay.models import Member

from .audit import RequestOrigin, record

KIND = "member"


@transaction.atomic
def set_member(
    user: User,
    *,
    origin: RequestOrigin,
    role: Role | None = None,
    teams: Collection[str] | None = None,
    is_active: bool | None = None,
) -> dict[str, Any]:
    """The user as shown, with what is given changed; who is not active cannot sign in, and their tokens are refused."""
    before = shown(user)
    member, _ = Member.objects.select_for_update().get_or_create(user=user)
    member.role = member.role if role is None else role.value
    member.teams = member.teams if teams is None else sorted(set(teams))
    member.save()
    if is_active is not None and is_active != user.is_active:
        user.is_active = is_active
        user.save(update_fields=["is_active"])
    after = shown(User.objects.select_related("member").get(pk=user.pk))
    record(origin, "member.set", kind=KIND, key=user.get_username(), before=before, after=after)
    return after


def person_called(name: str) -> Person:
    """The user or team of this name; a user whom nobody has let in counts as a viewer, the least of roles."""
    user = User.objects.select_related("member").filter(username=name, is_active=True).first()
    if user is None:
        return Person(name=name, teams=frozenset({name}))
    return person_of(user)


def person_of(user: User) -> Person:
    """A user with their role and teams."""
    is_now = shown(user)
    return Person(name=is_now["name"], role=Role(is_now["role"]), teams=frozenset(is_now["teams"]))


def shown(user: User) -> dict[str, Any]:
    """What the admins see of a user; one without a row is a viewer of no team."""
    member = getattr(user, "member", None)
    role = Role.ADMIN.value if user.is_superuser else member.role if member else Role.VIEWER.value
    return {
        "name": user.get_username(),
        "role": role,
        "teams": list(member.teams) if member else [],
        "active": user.is_active,
        "superuser": user.is_superuser,
    }
