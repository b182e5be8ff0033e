"""From the tests there are to the tests there should be."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from test_generator.definition import DataTestSpec, Definition
from test_generator.generation.standard import Changes, ExistingTest, reconcile

NOW = datetime(2013, 2, 1, tzinfo=UTC)
GRACE = timedelta(days=7)
NOTHING = Changes()


def spec_of(name: str, assertion: str = "row_count() > 0") -> DataTestSpec:
    return DataTestSpec(
        name=name,
        category="duplicates",
        definition=Definition(
            assertion=assertion, severity="hard", schedule="partition", sustain=timedelta(0), catch_up="all"
        ),
        datacenter="sea",
        spoils="",
        scope="partition",
    )


def existing(name: str, assertion: str = "row_count() > 0", **changes: datetime | None) -> ExistingTest:
    return ExistingTest(id=1, name=name, definition=spec_of(name, assertion), **changes)


def users(name: str) -> ExistingTest:
    return ExistingTest(id=2, name=name, definition=None)


def changes(there: list[ExistingTest], targets: list[DataTestSpec], now: datetime = NOW) -> Changes:
    return reconcile(there, targets, now=now, retire_grace=GRACE)


def apply(there: list[ExistingTest], change: Changes, now: datetime) -> list[ExistingTest]:
    """What the tests are once the changes are made."""
    new = {test.name: target for test, target in (*change.revise, *change.revive)}
    retired = {each.name for each in change.retire}
    after = [
        replace(each, definition=new[each.name], retired_at=None)
        if each.name in new
        else replace(each, retired_at=now)
        if each.name in retired
        else each
        for each in there
    ]
    return after + [ExistingTest(id=9, name=w.name, definition=w) for w in change.create]


def test_nothing_is_done_unless_it_is_said() -> None:
    assert Changes() == Changes(create=(), revise=(), retire=(), revive=()) == NOTHING
    assert ExistingTest(id=1, name="a", definition=None) == ExistingTest(
        id=1, name="a", definition=None, retired_at=None, missing_since=None
    )


def test_what_is_done_is_told_wholly_and_in_order() -> None:
    left = replace(users("left"), missing_since=NOW - GRACE)
    leaving = replace(users("leaving"), missing_since=NOW)
    ended = [replace(left, name="ended", retired_at=NOW), existing("gone", retired_at=NOW)]
    old, back, over = existing("old", "1 > 0"), existing("back", retired_at=NOW), existing("over")
    there = [existing("same"), old, back, over, users("mine"), left, leaving, *ended]
    change = changes(there, [spec_of(name) for name in ("new", "same", "mine", "old", "back")])
    assert change == Changes(
        create=(spec_of("new"),),
        revise=((old, spec_of("old")),),
        revive=((back, spec_of("back")),),
        retire=(over, left),
    )


def test_a_retired_test_that_is_wanted_again_is_revived_with_what_is_wanted_now() -> None:
    change = changes([existing("duplicates", "old", retired_at=NOW)], [spec_of("duplicates", "new")])
    assert [target.definition.assertion for _, target in change.revive] == ["new"]
    assert not change.revise
    assert not change.create


def test_the_tests_of_a_dataset_gone_from_its_source_retire_after_the_grace() -> None:
    gone = existing("duplicates", missing_since=NOW)
    assert changes([gone], [spec_of("duplicates")], NOW + GRACE - timedelta(seconds=1)) == NOTHING
    assert changes([gone], [spec_of("duplicates")], NOW + GRACE).retire == (gone,)


def test_a_dataset_gone_from_its_source_gets_no_new_tests() -> None:
    assert changes([existing("duplicates", missing_since=NOW)], [spec_of("freshness")]) == NOTHING


def test_a_users_test_that_left_its_source_is_retired_after_the_grace_and_others_are_not() -> None:
    left = replace(users("fares"), missing_since=NOW)
    there = [left, users("mine"), existing("duplicates")]
    assert changes(there, [spec_of("duplicates")], NOW + GRACE - timedelta(seconds=1)).retire == ()
    assert changes(there, [spec_of("duplicates")], NOW + GRACE).retire == (left,)


def test_a_users_test_is_never_touched_even_where_its_name_is_wanted() -> None:
    assert changes([users("duplicates"), users("mine")], [spec_of("duplicates")]) == NOTHING


NAMES = st.sampled_from("abcdef")
TEXTS = st.sampled_from(["1 > 0", "2 > 0"])
WANTED = st.builds(spec_of, NAMES, TEXTS)
EXISTING = st.builds(existing, NAMES, TEXTS, retired_at=st.none() | st.just(NOW), missing_since=st.none()) | st.builds(
    users, NAMES
)


@given(
    there=st.lists(EXISTING, unique_by=lambda each: each.name),
    targets=st.lists(WANTED, unique_by=lambda each: each.name),
)
def test_reconciling_twice_changes_nothing_more(there: list[ExistingTest], targets: list[DataTestSpec]) -> None:
    after = apply(there, changes(there, targets), NOW)
    assert changes(after, targets) == NOTHING
    live = {each.name: each.definition for each in after if each.definition and not each.retired_at}
    taken = {each.name for each in there if each.definition is None}
    assert live == {each.name: each for each in targets if each.name not in taken}
    assert [each for each in after if each.definition is None] == [each for each in there if each.definition is None]
