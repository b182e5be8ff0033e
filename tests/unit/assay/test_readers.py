"""Who may see what tests found of a dataset."""

import pytest

from assay.access import Owned, Person, Role, may_read, may_show, readers_of, wrong_readers


def dataset(*readers: str, owner: str = "hanna", team: str = "hr") -> Owned:
    """A dataset shown to these."""
    return Owned(name="hr.pay", owner=owner, team=team, readers=readers)


@pytest.mark.parametrize(
    ("person", "may"),
    [
        (Person(name="vera"), False),
        (Person(name="olaf", role=Role.OPERATOR), False),
        (Person(name="pia", role=Role.PRODUCER), False),
        (Person(name="hanna", role=Role.PRODUCER), False),
        (Person(name="ann", role=Role.ADMIN), True),
        (Person(name="hanna", role=Role.OWNER), True),
        (Person(name="hugo", role=Role.OWNER, teams=frozenset({"hr"})), True),
        (Person(name="finn", teams=frozenset({"finance"})), True),
        (Person(name="bob"), True),
    ],
)
def test_a_dataset_with_readers_is_shown_to_them_its_owners_and_admins(person: Person, may: bool) -> None:
    assert may_read(person, dataset("team:finance", "user:bob")) is may
    assert may_read(person, dataset())


def test_a_role_may_read() -> None:
    assert may_read(Person(name="olaf", role=Role.OPERATOR), dataset("role:operator"))


def test_all_who_may_read_are_those_named_the_owner_and_the_team() -> None:
    assert readers_of(dataset()) is None
    assert readers_of(dataset("user:bob")) == frozenset({"user:bob", "user:hanna", "team:hr"})
    assert readers_of(dataset("user:bob", team="")) == frozenset({"user:bob", "user:hanna"})


def test_one_dataset_may_show_another_only_to_whom_both_are_shown() -> None:
    pay = dataset("team:finance")
    assert not may_show(pay, to=dataset())
    assert not may_show(pay, to=dataset("team:finance", owner="rita", team="rides"))
    assert may_show(pay, to=dataset("team:finance"))
    assert may_show(dataset(), to=dataset("user:bob"))
    assert may_show(dataset(), to=dataset())
    assert may_show(dataset("team:finance", "user:bob"), to=dataset("user:bob"))
    assert not may_show(dataset("user:bob"), to=dataset("team:finance", "user:bob"))


def test_a_reader_is_a_role_a_team_or_a_user() -> None:
    assert not wrong_readers(["role:viewer", "team:hr", "user:ada@example.com"])
    assert not wrong_readers(["user:a", "team:data quality", "role:admin", "role:owner"])
    assert wrong_readers(["team: hr", "team:hr ", "role:Viewer", "Team:hr"]) == [
        *("team: hr", "team:hr ", "role:Viewer", "Team:hr")
    ]
    assert wrong_readers(["ada", "role:king", "user:", "group:x"]) == ["ada", "role:king", "user:", "group:x"]
