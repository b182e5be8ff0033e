"""Who asks, and whose a row is: what the rules of ``assay.access.roles`` are asked with."""

from collections.abc import Iterable
from functools import singledispatch
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.authentication import BasicAuthentication
from rest_framework.request import Request

from alerting.models import Silence
from assay.access.readers import may_read
from assay.access.roles import AccessRefusal, Action, Owned, Person, Role, refusal
from assay.catalog import selectors
from assay.models import AccessToken, Dataset, DataTest, Member
from execution_engine.models import Run, Suspect
from incident_manager.models import GateOverride, Incident, Publication, Report
from test_generator.models import Offer

T = TypeVar("T")


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


def refused(request: Request | HttpRequest, action: Action | None, row: object = None) -> AccessRefusal | None:
    """None where whoever asks may; else the reason why not."""
    person, whose = person_of(request), None if row is None else owned(row)
    return unreadable(person, action, whose) or refusal(person, action, whose)


def unreadable(person: Person, action: Action | None, whose: Owned | None) -> AccessRefusal | None:
    """Why somebody may not see a dataset, whatever their role; who pushes what is known of it need not see it."""
    if whose is None or action is Action.PUSH or may_read(person, whose):
        return None
    readers = ", ".join(whose.readers)
    return AccessRefusal(text=f"Only the readers of {whose.name} may see it ({readers}); ask its owner, {whose.owner}.")


def may(request: Request | HttpRequest, action: Action, row: object = None) -> bool:
    """Whether whoever asks may: for showing a button, or not."""
    return refused(request, action, row) is None


def readable(request: Request | HttpRequest, rows: Iterable[T]) -> list[T]:
    """The rows of datasets that whoever asks may see."""
    return [row for row in rows if may(request, Action.READ, row)]


def hidden_datasets(request: Request | HttpRequest) -> list[int]:
    """The datasets that whoever asks may not see, by id."""
    limited = Dataset.objects.exclude(readers="").only("full_name", "owner", "team", "readers")
    person = person_of(request)
    return [row.pk for row in limited if not may_read(person, owned(row))]


@singledispatch
def owned(row: object) -> Owned:
    """Whose the row is."""
    raise TypeError(f"{type(row).__name__} belongs to no dataset: say in web/access/who.py whose it is.")


@owned.register
def _(row: Dataset) -> Owned:
    return selectors.owned(row)


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
def _(row: GateOverride) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Publication) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Silence) -> Owned:
    """Of its dataset's owner; without one, of those who are not told. One of everybody is nobody's own."""
    if row.dataset is not None:
        return owned(row.dataset)
    return Owned(name=row.owner or "all datasets", owner=row.owner, team=row.owner)


@owned.register
def _(row: Offer) -> Owned:
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
