"""Who asks, by what they are known, and whose each kind of row is."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from structlog.testing import capture_logs

from alerting.models import Silence
from assay.access import Action, Owned, Person, Role
from assay.models import AccessToken, Member
from execution_engine.models import Suspect
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, ReportFactory, RunFactory
from web.access.who import MayUse, hidden_datasets, may, owned, person_of, readable, refused, unreadable, way_of

pytestmark = pytest.mark.django_db


def user(name: str = "grace", role: str = "", teams: tuple[str, ...] = (), **more: Any) -> User:
    made = User.objects.create_user(name, **more)
    if role:
        Member.objects.create(user=made, role=role, teams=list(teams))
    return made


def request(of: Any, **more: Any) -> Any:
    made: Any = RequestFactory().get("/")
    made.user = of
    for name, value in more.items():
        setattr(made, name, value)
    return made


def token_of(of: User, *scopes: str) -> AccessToken:
    made = AccessToken.objects.create(user=of, expiry=None, scopes=list(scopes))
    token: AccessToken = made[0] if isinstance(made, tuple) else made
    return token


@pytest.mark.parametrize(
    ("role", "teams", "more", "expected"),
    [
        ("owner", ("trips", "rides"), {}, (Role.OWNER, {"trips", "rides"})),
        ("king", ("trips",), {}, (Role.VIEWER, {"trips"})),  # nobody knows that role
        ("", (), {}, (Role.VIEWER, set())),
        ("", (), {"is_superuser": True}, (Role.ADMIN, set())),
        ("viewer", (), {"is_superuser": True}, (Role.ADMIN, set())),
    ],
)
def test_somebody_is_what_their_row_says(
    role: str, teams: tuple[str, ...], more: dict[str, Any], expected: tuple[Role, set[str]]
) -> None:
    person = person_of(request(user(role=role, teams=teams, **more)))
    assert (person.role, set(person.teams), person.name, person.scopes) == (*expected, "grace", None)


def test_nobody_is_a_viewer_without_a_name() -> None:
    assert person_of(request(AnonymousUser())) == Person(name="", role=Role.VIEWER, teams=frozenset(), scopes=None)


def test_a_token_narrows_what_its_user_may() -> None:
    grace = user(role="admin")
    token = token_of(grace, "read")
    asked = request(grace, auth=token)
    assert (person_of(asked).scopes, way_of(asked)) == (frozenset({"read"}), f"token {token.token_key}")
    assert person_of(request(grace, auth="no token of ours")).scopes is None


@pytest.mark.parametrize(
    ("more", "way"),
    [
        ({}, "session"),
        ({"auth": None, "successful_authenticator": SessionAuthentication()}, "session"),
        ({"auth": None, "successful_authenticator": BasicAuthentication()}, "password"),
    ],
    ids=["plain", "session", "password"],
)
def test_somebody_is_known_by_the_way_they_came(more: dict[str, Any], way: str) -> None:
    assert way_of(request(user(), **more)) == way


def test_a_dataset_with_readers_is_shown_to_them_its_owner_its_team_and_admins() -> None:
    limited = DatasetFactory.create(name="pay", owner="ada", team="money", readers="user:eve\nteam:audit")
    shown = DatasetFactory.create(name="trips")
    people = {
        "grace": user("grace", "owner", ("trips",)),
        "eve": user("eve"),
        "ada": user("ada"),
        "bob": user("bob", "viewer", ("audit",)),
        "mo": user("mo", "owner", ("money",)),
        "root": user("root", is_superuser=True),
    }
    hidden = {name: hidden_datasets(request(who)) for name, who in people.items()}
    assert hidden == {name: [limited.pk] if name == "grace" else [] for name in people}
    assert readable(request(people["grace"]), [limited, shown]) == [shown]
    assert readable(request(people["eve"]), [limited, shown]) == [limited, shown]
    said = "Only the readers of raw.pay may see it (user:eve, team:audit); ask its owner, ada."
    assert refused(request(people["grace"]), Action.READ, limited) == said
    assert may(request(people["eve"]), Action.READ, limited)
    assert not may(request(people["grace"]), Action.READ, limited)
    assert may(request(people["grace"]), Action.READ)


def test_who_pushes_need_not_see_what_they_push() -> None:
    grace = Person(name="grace", role=Role.PRODUCER, teams=frozenset(), scopes=None)
    whose = owned(DatasetFactory.create(owner="ada", readers="user:eve"))
    assert unreadable(grace, Action.PUSH, whose) is None
    assert unreadable(grace, Action.READ, whose) is not None
    assert unreadable(grace, None, whose) is not None
    assert unreadable(grace, Action.READ, None) is None


def test_each_row_is_owned_as_its_dataset_is() -> None:
    dataset = DatasetFactory.create(name="pay", owner="ada", team="money", readers="user:eve\nuser:bob")
    expected = Owned(name="raw.pay", owner="ada", team="money", readers=("user:eve", "user:bob"))
    data_test = DataTestFactory.create(dataset=dataset)
    period = {"starts_at": NOW, "ends_at": NOW}
    suspect = Suspect(dataset=dataset, window_start=NOW, window_end=NOW)
    rows = (
        dataset,
        data_test,
        RunFactory.create(data_test=data_test),
        IncidentFactory.create(dataset=dataset, owner="then", team="then"),
        ReportFactory.create(dataset=dataset),
        Silence(dataset=dataset, owner="eve", **period),
        suspect,
    )
    assert [owned(row) for row in rows] == [expected] * len(rows)
    assert owned(Silence(owner="rides", **period)) == Owned(name="rides", owner="rides", team="rides")
    assert owned(Silence(**period)) == Owned(name="all datasets", owner="", team="")
    grace = user()
    own = Owned(name="grace", owner="grace", team="")
    assert (owned(grace), owned(token_of(grace))) == (own, own)
    with pytest.raises(TypeError, match=r"^Member belongs to no dataset: say in web/access/who\.py whose it is\.$"):
        owned(Member())


class View:
    """Answers GET, which anybody who is known may ask."""

    def get(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(("name", "is_let_through"), [("grace", False), ("eve", True)])
def test_who_is_refused_a_row_is_told_why_and_it_is_logged(
    monkeypatch: pytest.MonkeyPatch, name: str, is_let_through: bool
) -> None:
    monkeypatch.setattr("web.access.who.need_of", lambda *_: Action.READ)
    limited = DatasetFactory.create(name="pay", owner="ada", readers="user:eve")
    asked, permission = request(user(name)), MayUse()
    said = "" if is_let_through else "Only the readers of raw.pay may see it (user:eve); ask its owner, ada."
    with capture_logs() as logs:
        assert permission.has_permission(asked, View())
        assert permission.has_object_permission(asked, View(), limited) is is_let_through
    assert permission.message == said
    told = {"event": "refused", "log_level": "warning", "actor": name, "method": "GET", "path": "/", "why": said}
    assert logs == ([] if is_let_through else [told])


def test_nobody_is_let_through_and_what_no_view_answers_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.access.who.need_of", lambda *_: Action.LIFT)
    assert not MayUse().has_permission(request(AnonymousUser()), View())
    assert not MayUse().has_permission(request(user()), View())
    assert MayUse().has_permission(request(User.objects.get()), object())
