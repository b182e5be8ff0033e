"""Who may do what: the rules as tables, and what a refusal says."""

import re
from pathlib import Path

import pytest

from assay.access import RULES, SCOPES, Action, AllowedOn, Owned, Person, Role, TokenScope, owns, reach_of, refusal

SECURITY = Path(__file__).parents[3] / "docs" / "security.md"
TRIPS = Owned(name="raw.trips", owner="ada", team="trips")


def ada(role: Role, **more: object) -> Person:
    return Person(name="ada", role=role, **more)  # type: ignore[arg-type]


def bob(role: Role, **more: object) -> Person:
    return Person(name="bob", role=role, **more)  # type: ignore[arg-type]


def documented(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of the page, without its head."""
    section = SECURITY.read_text().split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_every_action_has_a_rule_for_every_role() -> None:
    assert set(RULES) == set(Action)
    assert {len(reaches) for reaches in RULES.values()} == {len(Role)}


def test_the_page_shows_the_rules_in_force() -> None:
    assert documented("Roles") == [[str(action), *map(str, reaches)] for action, reaches in RULES.items()]


def test_the_page_shows_the_scopes_in_force() -> None:
    written = {scope: set(re.split("; ", actions)) for scope, actions in documented("Scopes")}
    assert written == {str(scope): {str(action) for action in actions} for scope, actions in SCOPES.items()}


@pytest.mark.parametrize("role", Role)
def test_everybody_reads_and_reports(role: Role) -> None:
    assert refusal(bob(role), Action.READ) is None
    assert refusal(bob(role), Action.REPORT, TRIPS) is None


def test_an_owner_acts_on_what_is_theirs_only() -> None:
    assert refusal(ada(Role.OWNER), Action.ACT, TRIPS) is None
    why = refusal(bob(Role.OWNER), Action.ACT, TRIPS)
    assert why == (
        "bob has the role owner, and may not act on incidents and reports of raw.trips. "
        "Who may: owner (of their own datasets), operator, admin."
    )


def test_a_team_owns_what_its_members_own() -> None:
    assert owns(bob(Role.OWNER, teams=frozenset({"trips"})), TRIPS)
    assert not owns(bob(Role.OWNER, teams=frozenset({""})), Owned(name="raw.x", owner="ada", team=""))
    assert not owns(bob(Role.OWNER), TRIPS)


def test_to_be_named_as_the_owner_gives_a_viewer_or_a_producer_nothing() -> None:
    for role in (Role.VIEWER, Role.PRODUCER):
        assert refusal(ada(role), Action.ACT, TRIPS) is not None
        assert refusal(ada(role), Action.TEST, TRIPS) is not None


def test_whoever_can_name_owners_cannot_act_as_one() -> None:
    """A push of the catalog says who owns a dataset."""
    pushers = {role for role in Role if reach_of(role, Action.PUSH) is not AllowedOn.NONE}
    assert pushers == {Role.PRODUCER, Role.ADMIN}
    assert reach_of(Role.PRODUCER, Action.ACT) is AllowedOn.NONE


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("role", Role)
def test_a_token_never_widens_what_its_role_allows(role: Role, action: Action) -> None:
    bare, every = ada(role), ada(role, scopes=frozenset(TokenScope))
    assert refusal(every, action, TRIPS) is not None or refusal(bare, action, TRIPS) is None
    assert refusal(ada(role, scopes=frozenset()), action, TRIPS) is not None
    assert refusal(ada(role, scopes=frozenset({"everything"})), action, TRIPS) is not None


def test_no_token_makes_a_token() -> None:
    why = refusal(ada(Role.ADMIN, scopes=frozenset(TokenScope)), Action.MAKE_TOKEN)
    assert why is not None
    assert "sign in with your password" in why


@pytest.mark.parametrize(
    ("person", "action", "dataset", "text"),
    [
        (
            bob(Role.VIEWER),
            Action.PUSH,
            None,
            "bob has the role viewer, and may not push catalog, lineage and completions. Who may: producer, admin.",
        ),
        (
            bob(Role.OPERATOR),
            Action.TEST,
            TRIPS,
            "bob has the role operator, and may not write data tests of raw.trips. "
            "Who may: owner or operator (of their own datasets), admin.",
        ),
        (
            ada(Role.ADMIN, scopes=frozenset()),
            Action.READ,
            None,
            "This token has no scope, and may not read. This needs the scope read.",
        ),
        (
            ada(Role.ADMIN, scopes=frozenset({"read", "gate"})),
            Action.RUN,
            TRIPS,
            "This token has the scopes gate, read, and may not run tests. This needs the scope act.",
        ),
        (
            ada(Role.ADMIN, scopes=frozenset({"everything"})),
            Action.LEAVE,
            None,
            "This token has the scope everything, and may not end the token that is sent. "
            "This needs the scope read or gate or ingest or act or manage.",
        ),
        (
            ada(Role.ADMIN, scopes=frozenset({"manage"})),
            Action.MAKE_TOKEN,
            None,
            "No token may make a token for oneself: sign in with your password to do this.",
        ),
        (ada(Role.ADMIN), None, None, "Nobody may do this: no rule allows it."),
    ],
)
def test_a_refusal_says_who_may_or_what_the_token_lacks(
    person: Person, action: Action | None, dataset: Owned | None, text: str
) -> None:
    assert refusal(person, action, dataset) == text


def test_without_a_dataset_an_owner_may_act_on_some() -> None:
    assert refusal(bob(Role.OWNER), Action.ACT) is None
    assert refusal(bob(Role.VIEWER), Action.ACT) is not None


def test_one_scope_that_is_enough_is_enough() -> None:
    assert refusal(ada(Role.ADMIN, scopes=frozenset({"everything", "read"})), Action.AUDIT) is None
    assert refusal(ada(Role.OWNER, scopes=frozenset({"act", "gate"})), Action.ACT, TRIPS) is None


def test_somebody_is_a_viewer_without_teams_and_without_a_token_unless_more_is_known() -> None:
    assert Person(name="ada") == Person(name="ada", role=Role.VIEWER, teams=frozenset(), scopes=None)
    assert TRIPS.readers == ()


def test_roles_scopes_and_reaches_are_written_in_one_way() -> None:
    assert [str(each) for each in Role] == ["viewer", "owner", "producer", "operator", "admin"]
    assert [str(each) for each in TokenScope] == ["read", "gate", "ingest", "act", "manage"]
    assert [str(each) for each in AllowedOn] == ["–", "own", "yes"]


def test_what_no_rule_knows_is_for_nobody() -> None:
    assert refusal(ada(Role.ADMIN), None) is not None
    assert reach_of(Role.ADMIN, "fly") is AllowedOn.NONE  # type: ignore[arg-type]
