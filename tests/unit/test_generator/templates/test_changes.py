"""From the tests there are to those that templates make."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_generator.definition import DataTestSpec, Generation
from test_generator.templates.rules import MadeChanges, StandingTest, made_changes
from tests.unit.test_generator.templates.written import made, table, template

(ROWS,) = made(table(), template()).tests


def made_test(name: str = "a", assertion: str = "1 > 0", of: str = "t", category: str = "custom") -> DataTestSpec:
    definition = replace(ROWS.definition, assertion=assertion)
    return replace(ROWS, name=name, template=of, category=category, definition=definition)  # type: ignore[arg-type]


def standing(test: DataTestSpec, **more: Any) -> StandingTest:
    return StandingTest(**{"id": 1, "made": test, **more})


def changes(there: list[StandingTest], *tests: DataTestSpec) -> MadeChanges:
    return made_changes(there, Generation(tests=tests), "raw.trips")


def carried_out(there: list[StandingTest], found: MadeChanges) -> list[StandingTest]:
    """The tests that stand after the changes."""
    taken = {row.id: made for row, made in found.take}
    left, ids = {each.id for each in found.leave}, count(1000)
    after = [
        replace(each, made=taken[each.id], is_retired=False, is_leaving=False) if each.id in taken else each
        for each in there
    ]
    after = [replace(each, is_leaving=True) if each.id in left else each for each in after]
    return [*after, *(standing(test, id=next(ids)) for test in found.make)]


def test_a_test_is_made_revised_and_left() -> None:
    assert changes([], made_test()).make == (made_test(),)
    assert changes([standing(made_test())], made_test()) == MadeChanges()
    ((row, made_of_it),) = changes([standing(made_test())], made_test(assertion="2 > 0")).take
    assert (row.id, made_of_it.definition.assertion) == (1, "2 > 0")
    assert changes([standing(made_test())]).leave == (standing(made_test()),)


@pytest.mark.parametrize("state", ["is_retired", "is_leaving"])
def test_what_is_made_again_lives_again_and_what_has_left_is_not_left_twice(state: str) -> None:
    gone = standing(made_test(), **{state: True})
    assert [row for row, _ in changes([gone], made_test()).take] == [gone]
    assert changes([gone]) == MadeChanges()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (standing(made_test(of=""), is_standard=True), "'a' is the name of a standard test: give the template"),
        (
            standing(made_test(of="")),
            "a test 'a' was written by page or API: give the template another name, or retire",
        ),
        (standing(made_test(of=""), source="shop"), "a test 'a' was written in the source 'shop': give"),
        (standing(made_test("A", of="")), "a test 'a' was written by page or API"),
        (standing(made_test(category="anomaly"), is_retired=True), "a test 'a' was of the category anomaly: give"),
    ],
)
def test_a_test_of_peoples_own_is_never_touched(row: StandingTest, reason: str) -> None:
    found = changes([row], made_test())
    assert (found.make, found.take, found.leave) == ((), (), ())
    (gap,) = found.gaps
    assert gap.reason.startswith(reason)
    assert (gap.dataset, gap.category, gap.template, gap.mendable) == ("raw.trips", "custom", "t", False)


@pytest.mark.parametrize("state", ["is_retired", "is_leaving"])
def test_the_name_of_a_test_that_has_ended_or_left_is_free(state: str) -> None:
    assert len(changes([standing(made_test(of=""), **{state: True})], made_test()).take) == 1


NAMES = st.sampled_from("abcd")
TEXTS = st.sampled_from(["1 > 0", "2 > 0"])
STANDING = st.builds(
    standing,
    st.builds(made_test, NAMES, TEXTS, st.sampled_from(["", "t", "u"]), st.sampled_from(["custom", "anomaly"])),
    id=st.integers(1, 99),
    is_standard=st.just(False),
    is_retired=st.booleans(),
    is_leaving=st.booleans(),
)


@given(
    there=st.lists(STANDING, unique_by=(lambda each: each.id, lambda each: each.made.name)),
    targets=st.lists(st.builds(made_test, NAMES, TEXTS, st.sampled_from("tu")), unique_by=lambda each: each.name),
)
def test_applying_twice_changes_nothing_more_and_leaves_exactly_what_is_made(
    there: list[StandingTest], targets: list[DataTestSpec]
) -> None:
    found = changes(there, *targets)
    after = carried_out(there, found)
    again = changes(after, *targets)
    assert (again.make, again.take, again.leave) == ((), (), ())
    refused = {gap.reason.split("'")[1] for gap in found.gaps}
    live = {each.made.name: each.made for each in after if not (each.is_retired or each.is_leaving)}
    of_templates = {name: test for name, test in live.items() if test.template}
    assert {name: test for name, test in of_templates.items() if name not in refused} == {
        test.name: test for test in targets if test.name not in refused
    }
    own = [each for each in there if not (each.made.template or each.is_retired or each.is_leaving)]
    assert all(each in after for each in own)
