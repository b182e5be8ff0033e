"""Who asks, and whose a row is: what the rules of ``assay.access`` are asked with."""

from functools import singledispatch
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.authentication import BasicAuthentication
from rest_framework.request import Request

from assay.access import Action, Owned, Person, Refusal, Role, refusal
from assay.models import AccessToken, Dataset, DataTest, Member
from execution_engine.models import Run, Suspect
from incident_manager.models import Incident, Report


def person_of(request: Request | HttpRequest) -> Person:
    """Who sends this request, and what their token is for, if they sent one."""
    user, token = request.user, getattr(request, "auth", None)
    member = getattr(user, "member", None)
    return Person(
        name=user.get_username(),
        role=role_of(user, member),
        teams=frozenset(member.teams) if member else frozenset(),
        scopes=frozenset(token.scopes) if isinstance(token, AccessToken) else None,
    )


def role_of(user: Any, member: Member | None) -> Role:
    """The user's role; a viewer's, if nobody gave one that is known."""
    if user.is_superuser:
        return Role.ADMIN
    return Role(member.role) if member is not None and member.role in set(Role) else Role.VIEWER


def way_of(request: Request | HttpRequest) -> str:
    """By what they are known: ``session``, ``password``, or the token with its id."""
    if isinstance(token := getattr(request, "auth", None), AccessToken):
        return f"token {token.token_key}"
    has_password = isinstance(getattr(request, "successful_authenticator", None), BasicAuthentication)
    return "password" if has_password else "session"


def refused(request: Request | HttpRequest, action: Action | None, row: object = None) -> Refusal | None:
    """None where whoever asks may; else the reason why not."""
    return refusal(person_of(request), action, None if row is None else owned(row))


def may(request: Request | HttpRequest, action: Action, row: object = None) -> bool:
    """Whether whoever asks may: for showing a button, or not."""
    return refused(request, action, row) is None


@singledispatch
def owned(row: object) -> Owned:
    """Whose the row is."""
    raise TypeError(f"{type(row).__name__} belongs to no dataset: say in web/who.py whose it is.")


@owned.register
def _(row: Dataset) -> Owned:
    return Owned(name=row.full_name, owner=row.owner, team=row.team)


@owned.register
def _(row: DataTest) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Incident) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Report) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Suspect) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Run) -> Owned:
    return owned(row.data_test.dataset)


@owned.register
def _(row: User) -> Owned:
    return Owned(name=row.username, owner=row.username, team="")


@owned.register
def _(row: AccessToken) -> Owned:
    return owned(row.user)
