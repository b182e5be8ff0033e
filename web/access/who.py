"""Who asks, and whose a row is: what the rules of ``assay.access`` are asked with."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeVar

import structlog
from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.authentication import BasicAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from alerting.models import Silence
from assay import accounts
from assay.access import Action, Owned, Person, may_read, refusal
from assay.catalog import selectors
from assay.models import AccessToken, Binding, Dataset, DataTest
from execution_engine.models import Run, Suspect
from incident_manager.models import GateOverride, Incident, Publication, Report
from test_generator.models import Offer

T = TypeVar("T")


def person_of(request: Request | HttpRequest) -> Person:
    """Who sends this request, and what their token is for, if they sent one."""
    user: Any = request.user
    token = getattr(request, "auth", None)
    scopes = frozenset(token.scopes) if isinstance(token, AccessToken) else None
    return replace(accounts.person_of(user), scopes=scopes)


def way_of(request: Request | HttpRequest) -> str:
    """By what they are known: ``session``, ``password``, or the token with its id."""
    if isinstance(token := getattr(request, "auth", None), AccessToken):
        return f"token {token.token_key}"
    has_password = isinstance(getattr(request, "successful_authenticator", None), BasicAuthentication)
    return "password" if has_password else "session"


def refused(request: Request | HttpRequest, action: Action | None, row: object = None) -> str | None:
    """None where whoever asks may; else the reason why not."""
    person, whose = person_of(request), None if row is None else owned(row)
    return unreadable(person, action, whose) or refusal(person, action, whose)


def unreadable(person: Person, action: Action | None, whose: Owned | None) -> str | None:
    """Why somebody may not see a dataset, whatever their role; who pushes what is known of it need not see it."""
    if whose is None or action is Action.PUSH or may_read(person, whose):
        return None
    readers = ", ".join(whose.readers)
    return f"Only the readers of {whose.name} may see it ({readers}); ask its owner, {whose.owner}."


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
def _(row: Owned) -> Owned:
    return row


@owned.register
def _(row: Dataset) -> Owned:
    return selectors.owned(row)


@owned.register
def _(row: DataTest | Incident | Report | GateOverride | Publication | Offer | Suspect | Binding) -> Owned:
    return owned(row.dataset)


@owned.register
def _(row: Run) -> Owned:
    return owned(row.data_test.dataset)


@owned.register
def _(row: Silence) -> Owned:
    """Of its dataset's owner; without one, of those who are not told. One of everybody is nobody's own."""
    if row.dataset is not None:
        return owned(row.dataset)
    return Owned(name=row.owner or "all datasets", owner=row.owner, team=row.owner)


@owned.register
def _(row: User) -> Owned:
    return Owned(name=row.username, owner=row.username, team="")


@owned.register
def _(row: AccessToken) -> Owned:
    return owned(row.user)


READ_ROWS = {"list": Action.READ, "retrieve": Action.READ}
# what each address needs: the resource and its action, or its method where it has none; what is missing nobody may
NEEDS: Mapping[str, Mapping[str, Action]] = {
    "Login": {"post": Action.MAKE_TOKEN},
    "Logout": {"post": Action.LEAVE},
    "Tokens": {"list": Action.SHOW_TOKENS, "create": Action.MAKE_TOKEN, "destroy": Action.SHOW_TOKENS},
    "Members": dict.fromkeys(("list", "retrieve", "update"), Action.MANAGE),
    "Audit": {"list": Action.AUDIT},
    "Datasets": READ_ROWS
    | {"update": Action.PUSH, "partial_update": Action.CORRECT, "follow": Action.FOLLOW, "unfollow": Action.FOLLOW},
    "BusinessMetrics": READ_ROWS | {"update": Action.PUSH},
    "Lineage": {"get": Action.READ, "post": Action.PUSH},
    "Proposals": {"get": Action.READ},
    "Onboardings": {"post": Action.PUSH},
    "OnboardingPreview": {"post": Action.PUSH},
    "Templates": READ_ROWS
    | {"library": Action.READ}
    | dict.fromkeys(("create", "partial_update", "destroy", "preview"), Action.TEST),
    "Bindings": READ_ROWS | dict.fromkeys(("create", "partial_update", "destroy"), Action.TEST),
    "Coverage": {"get": Action.READ},
    "Columns": {"get": Action.READ},
    "DataTests": READ_ROWS | dict.fromkeys(("create", "partial_update", "destroy"), Action.TEST),
    "Suggestions": READ_ROWS
    | {"reading": Action.READ}
    | dict.fromkeys(("create", "accept", "reject", "take_back"), Action.TEST),
    "Backtests": {"get": Action.READ, "post": Action.RUN},
    "Runs": READ_ROWS | {"create": Action.RUN, "bulk": Action.RUN, "back_fill_cost": Action.READ},
    "Measurements": {"list": Action.READ},
    "Quarantines": READ_ROWS | {"lift": Action.LIFT},
    "Incidents": READ_ROWS
    | dict.fromkeys(("annotations", "acknowledge", "assign", "rerun", "force_resolve", "accept"), Action.ACT),
    "Silences": READ_ROWS | {"create": Action.SILENCE, "end": Action.SILENCE},
    "Reports": READ_ROWS | {"create": Action.REPORT} | dict.fromkeys(("confirm", "reject", "fix", "join"), Action.ACT),
    "Gate": {"post": Action.ASK},
    "GateOverrides": READ_ROWS | {"create": Action.OVERRIDE, "end": Action.OVERRIDE},
    "Publications": READ_ROWS,
    "Quality": {"get": Action.ASK},
    "QueryQuality": {"post": Action.ASK},
    "BulkQuality": {"post": Action.ASK},
    "Completed": {"get": Action.ASK, "post": Action.PUSH},
    "PipelineQuality": {"get": Action.READ},
    "Deploys": {"post": Action.PUSH},
    "Scores": {"get": Action.READ},
    "Search": {"get": Action.READ},
    "VitalSigns": {"get": Action.READ},
    "Badge": {"get": Action.ASK},
    "CalendarFeed": {"get": Action.READ},
    "Export": {"get": Action.READ},
}


def need_of(view: Any, method: str) -> Action | None:
    """What a request to a view needs; None: no rule says so."""
    if method == "OPTIONS":
        return Action.READ
    name = getattr(view, "action", None) or ("get" if method == "HEAD" else method.lower())
    return NEEDS.get(type(view).__name__, {}).get(name)


log = structlog.get_logger(__name__)


class MayUse(IsAuthenticated):
    """Whoever is known and may, by role, token and what the row is to them."""

    message = ""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether they may at all, on some dataset at least."""
        if not super().has_permission(request, view):
            return False
        has_handler = hasattr(view, str(request.method).lower())
        return not has_handler or self.has_object_permission(request, view, None)  # without one it is answered with 405

    def has_object_permission(self, request: Request, view: Any, obj: Any) -> bool:
        """Whether they may on this one."""
        if (why_not := refused(request, need_of(view, str(request.method)), obj)) is None:
            return True
        self.message, actor = why_not, request.user.get_username()
        log.warning("refused", actor=actor, method=request.method, path=request.path, why=self.message)
        return False
