"""What the judge says of batches beside forty like days: which are novel, and why, in words."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution_engine.novelty.days import Method
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past, from_bytes, to_bytes
from execution_engine.novelty.verdict import NoveltyStatus, NoveltyVerdict
from execution_engine.profiles import stored as profiles
from execution_engine.profiles.profile import TableProfile
from execution_engine.profiles.stored import UnableToRead
from execution_engine.profiles.values import DistinctSample
from tests.unit.execution_engine.novelty.batches import past, past_of, profile, trips, with_column

TODAY = 40


@cache
def known() -> Past:
    return past(TODAY)


def verdict(table: pa.Table, method: Method = Method.PREDICTIVE) -> NoveltyVerdict:
    return judge(profile(table, TODAY), known(), method)


@pytest.mark.thorough
@pytest.mark.parametrize("method", Method)
def test_days_like_those_before_are_no_news(method: Method) -> None:
    history, novel = known(), []
    for day in range(TODAY, TODAY + 60):
        today = profile(trips(day), day)
        novel += [day] if judge(today, history, method).is_novel else []
        history = history.joined(today)
    assert len(novel) <= 5


def test_eight_accepted_batches_are_needed() -> None:
    today = profile(trips(TODAY), TODAY)
    learning = judge(today, past(7))
    assert (learning.status, learning.is_novel) == (NoveltyStatus.LEARNING, False)
    assert learning.notes == ("7 of the 8 accepted batches that a verdict needs",)
    assert judge(today, past(8)).status is NoveltyStatus.LIKE


def re_dated(day: int) -> pa.Table:
    """The trips of a day as those of the next one."""
    rows = trips(day)
    begun = pa.array(rows["begun"].cast(pa.int64()).to_numpy() + 86_400 * 10**6).cast(pa.timestamp("us", "UTC"))
    return with_column(rows, "begun", begun)


@pytest.mark.parametrize("share", [0.05, 0.2, 1.0])
def test_rows_of_the_day_before_under_the_date_of_today_are_news(share: float) -> None:
    stale = re_dated(TODAY - 1).slice(0, round(500 * share))
    fresh = trips(TODAY).slice(stale.num_rows)
    found = verdict(pa.concat_tables([stale, fresh]))
    assert "share of rows that the window before had too" in [cause.statistic for cause in found.causes]


def test_a_snapshot_that_repeats_most_rows_each_day_is_news_where_it_repeats_all() -> None:
    def snapshot(day: int) -> pa.Table:
        ids = np.arange(1000) + 20 * day
        return pa.table({"id": ids, "name": [f"user {number}" for number in ids]})

    history = past_of(profile(snapshot(day), day) for day in range(TODAY))
    assert not judge(profile(snapshot(TODAY), TODAY), history).is_novel
    assert [cause.text for cause in judge(profile(snapshot(TODAY - 1), TODAY), history).causes] == [
        "rows: the same as in the window before, usually new ones",
        "share of rows that the window before had too: 1, usually 0.98",
    ]


def answers(day: int) -> pa.Table:
    """Of sixty people, who mostly say the same: many rows are as many of the day before."""
    drawn = np.random.default_rng([3, day])
    return pa.table({"age": drawn.integers(20, 50, 60), "says": drawn.choice(["yes", "no"], 60, p=[0.8, 0.2])})


def test_a_copy_of_the_window_before_is_news_even_where_single_rows_usually_repeat() -> None:
    history = past_of(profile(answers(day), day) for day in range(TODAY))
    assert not judge(profile(answers(TODAY), TODAY), history).is_novel
    copied = judge(profile(answers(TODAY - 1), TODAY), history)
    assert (copied.is_novel, copied.causes[0].statistic) == (True, "rows")


def test_a_copy_is_no_news_once_one_is_right_or_where_a_table_stays_as_it_is() -> None:
    history = past_of(profile(answers(day), day) for day in range(TODAY))
    copy = profile(answers(TODAY - 1), TODAY)
    assert not judge(copy, history.joined(copy, released=True)).is_novel
    assert not judge(profile(answers(1), 30), past_of(profile(answers(1), day) for day in range(30))).is_novel


def test_a_group_whose_rows_are_all_gone_is_news() -> None:
    today = trips(TODAY)
    found = verdict(today.filter(pc.not_equal(today["city"], "Incheon")))
    assert "share of the usual values that are gone" in [cause.statistic for cause in found.causes]


def test_a_column_that_often_jumps_does_not_hide_that_rows_are_lost() -> None:
    def wild(day: int, rows: int) -> TableProfile:
        drawn = np.random.default_rng([5, day])
        numbers = drawn.normal(drawn.standard_t(2), 0.1, rows)
        return profile(with_column(trips(day, rows), "wild", numbers), day)

    rows = np.random.default_rng(1).integers(480, 521, TODAY).tolist()
    history = past_of(wild(day, count) for day, count in enumerate(rows))
    assert judge(wild(TODAY, 420), history).causes[0].text.startswith("rows: 420")


def test_a_past_that_was_kept_before_a_statistic_was_measured_judges_without_it() -> None:
    old = replace(
        known(),
        batches=tuple(
            replace(batch, arrays={name: array[:, :-1] for name, array in batch.arrays.items()})
            for batch in known().batches
        ),
        last_rows=DistinctSample(),
    )
    loaded = from_bytes(to_bytes(old))
    assert not judge(profile(trips(TODAY), TODAY), loaded).is_novel
    loaded = loaded.joined(profile(trips(TODAY), TODAY))
    assert not judge(profile(trips(TODAY + 1), TODAY + 1), loaded).is_novel


def test_of_a_batch_without_rows_the_rows_are_news_and_no_column_is_called_missing() -> None:
    for nothing in (trips(TODAY).slice(0, 0), pa.table({})):
        found = verdict(nothing)
        assert [cause.text for cause in found.causes] == ["rows: 0, usually 500"]
    released = known().joined(profile(pa.table({}), TODAY), released=True)
    assert not judge(profile(trips(TODAY).slice(0, 0), TODAY + 1), released).is_novel


def doubled(table: pa.Table, name: str) -> pa.Table:
    return with_column(table, name, [None if x is None else 2 * x for x in table[name].to_pylist()])


def some(table: pa.Table, name: str, value: object, count: int) -> pa.Table:
    values = table[name].to_pylist()
    return with_column(table, name, pa.array([value] * count + values[count:], table[name].type))


SPOILT: dict[str, tuple[Callable[[pa.Table], pa.Table], str, str]] = {
    "gaps where others have none": (lambda table: some(table, "tip", None, 40), "tip", "share of complete values"),
    "gaps in a full column": (lambda table: some(table, "city", None, 5), "city", "share of complete values of city"),
    "kilometres for miles": (lambda table: doubled(table, "fare"), "fare", "of fare"),
    "99999": (lambda table: some(table, "fare", 99999.0, 5), "fare", "of fare"),
    "NONE": (lambda table: some(table, "city", "NONE", 5), "city", "never seen before: NONE"),
    "rows twice": (lambda table: pa.concat_tables([table, table.slice(0, 50)]), "id", "of id"),
    "whole rows twice": (lambda table: pa.concat_tables([table, table.slice(0, 20)]), "", "that repeat another"),
    "half a load": (lambda table: table.slice(0, 250), "", "rows: 250, usually 500"),
    "another case": (
        lambda table: with_column(table, "city", ["seoul"] * 30 + table["city"].to_pylist()[30:]),
        "city",
        "seoul",
    ),
    "negative fares": (lambda table: some(table, "fare", -3.0, 5), "fare", "share of negative numbers of fare"),
    "other plates": (lambda table: some(table, "plate", "99-9999", 10), "plate", "of plate"),
    "other hours": (
        lambda table: with_column(table, "begun", table["begun"].take(pa.array([0] * 500))),
        "begun",
        "of begun",
    ),
    "NaN": (lambda table: some(table, "fare", float("nan"), 5), "fare", "share of NaN of fare: 0.01"),
    "infinity": (lambda table: some(table, "fare", inf, 5), "fare", "share of infinite numbers of fare"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_goes_wrong_is_told_with_its_column(name: str) -> None:
    spoil, column, words = SPOILT[name]
    found = verdict(spoil(trips(TODAY)))
    assert (found.is_novel, (found.score or 0) > (found.threshold or inf)) == (True, True)
    assert column in {cause.column or "" for cause in found.causes[:3]}
    assert any(words in cause.text for cause in found.causes), [cause.text for cause in found.causes]


@pytest.mark.parametrize("name", SPOILT)
def test_so_it_is_in_a_table_that_is_the_same_every_day(name: str) -> None:
    same = past_of([profile(trips(0), 0)] * 12)
    assert judge(profile(trips(0), 0), same).status is NoveltyStatus.LIKE
    assert judge(profile(SPOILT[name][0](trips(0)), 0), same).is_novel


def test_a_table_that_grows_by_three_rows_a_day_is_no_news() -> None:
    whole, history, novel = pa.concat_tables([trips(0), trips(1)]), Past(), []
    for day in range(40):
        today = profile(whole.slice(0, 500 + 3 * day), 0)
        novel += [day] if judge(today, history).is_novel else []
        history = history.joined(today)
    assert len(novel) <= 2


def test_a_cause_says_how_far_and_what_is_usual() -> None:
    (first, *_) = verdict(some(trips(TODAY), "city", None, 190)).causes
    assert (first.text, first.low, first.high) == ("share of complete values of city: 0.62, usually 1", 1.0, 1.0)
    assert first.value == pytest.approx(0.62)
    assert first.z < -10


def test_causes_come_with_the_largest_first() -> None:
    sizes = [-abs(cause.z) for cause in verdict(doubled(trips(TODAY), "fare")).causes]
    assert sizes == sorted(sizes)


def test_gaps_that_come_together_are_no_news_and_one_without_the_other_is() -> None:
    def stormy(table: pa.Table, day: int) -> pa.Table:
        gaps = np.random.default_rng(day).random(500) < [0.02, 0.3, 0.05][day % 3]
        for name in ("fare", "tip"):
            table = with_column(table, name, pa.array(np.arange(500.0) % 37, mask=gaps))
        return table

    history = past(TODAY, change=stormy)
    assert not judge(profile(stormy(trips(43), 43), 43), history).is_novel
    alone = some(stormy(trips(42), 42), "tip", None, 60)
    causes = judge(profile(alone, 42), history).causes
    assert any("less that of fare, of tip" in cause.text for cause in causes), [cause.text for cause in causes]


def test_a_column_that_is_gone_is_news_and_a_new_one_is_noted() -> None:
    gone = verdict(trips(TODAY).drop_columns(["city"]))
    assert (gone.is_novel, gone.causes[0].text) == (True, "column of city: missing, usually there")
    new = verdict(with_column(trips(TODAY), "colour", ["red"] * 500))
    notes = ("colour is new: it is judged once 8 batches with it are accepted",)
    assert (new.is_novel, new.notes) == (False, notes)


def test_a_column_that_comes_and_goes_is_no_news() -> None:
    def sometimes(table: pa.Table, day: int) -> pa.Table:
        return table if day % 2 else table.drop_columns(["tip"])

    history = past(TODAY, change=sometimes)
    assert not judge(profile(trips(41), 41), history).is_novel
    assert not judge(profile(sometimes(trips(42), 42), 42), history).is_novel


def test_a_column_of_another_kind_is_news_until_it_is_accepted() -> None:
    def as_text(table: pa.Table) -> pa.Table:
        return with_column(table, "fare", table["fare"].cast(pa.string()))

    found = verdict(as_text(trips(TODAY)))
    assert found.is_novel
    assert found.causes[0].text == "kind of the values of fare: text, usually number"
    history = known()
    for day in range(TODAY, TODAY + 8):
        history = history.joined(profile(as_text(trips(day)), day))
    assert not judge(profile(as_text(trips(48)), 48), history).is_novel


def test_ten_times_the_rows_are_told_as_rows() -> None:
    found = verdict(trips(TODAY, rows=5000))
    assert (found.is_novel, "rows: 5,000, usually 500" in [cause.text for cause in found.causes]) == (True, True)


def test_no_rows_one_row_and_nothing_but_nulls_have_a_verdict() -> None:
    table = trips(TODAY)
    nothing = pa.table({name: pa.nulls(500, table.schema.field(name).type) for name in table.column_names})
    for odd in (table.slice(0, 0), table.slice(0, 1), nothing, pa.table({})):
        assert verdict(odd).is_novel
    assert judge(profile(table, TODAY), past_of([TableProfile(rows=0)] * 9)).status is not NoveltyStatus.LEARNING


def test_constants_and_columns_of_nulls_are_no_news_while_they_stay_so() -> None:
    def dull(table: pa.Table, day: int) -> pa.Table:
        return with_column(with_column(table, "fare", [7.0] * 500), "city", pa.nulls(500, pa.string()))

    history = past(TODAY, change=dull)
    assert not judge(profile(dull(trips(TODAY), TODAY), TODAY), history).is_novel
    other = with_column(dull(trips(TODAY), TODAY), "fare", [8.0] * 500)
    assert judge(profile(other, TODAY), history).is_novel


@pytest.mark.thorough
def test_two_thousand_columns_have_a_verdict_without_a_false_alarm() -> None:
    def wide(day: int) -> TableProfile:
        drawn = np.random.default_rng(day).normal(size=(2000, 20))
        return profile(pa.table({f"c{number}": numbers for number, numbers in enumerate(drawn)}), day)

    history = past_of(wide(day) for day in range(8))
    assert judge(wide(8), history).status is NoveltyStatus.LIKE


@settings(max_examples=10, deadline=None)
@given(st.permutations(list(trips(0, 1).column_names)), st.sampled_from(list(Method)), st.booleans())
def test_the_order_of_columns_does_not_matter(order: list[str], method: Method, spoilt: bool) -> None:
    table = doubled(trips(TODAY), "fare") if spoilt else trips(TODAY)
    one, other = verdict(table, method), verdict(table.select(order), method)
    assert one.status is other.status
    assert one.score == pytest.approx(other.score)
    assert [cause.text for cause in one.causes] == [cause.text for cause in other.causes]


@pytest.mark.parametrize(
    ("column", "value", "count"), [("fare", 99999.0, 5), ("city", "NONE", 400), ("fare", None, 90)]
)
def test_the_paper_s_method_names_what_is_furthest(column: str, value: object, count: int) -> None:
    found = verdict(some(trips(TODAY), column, value, count), Method.NEIGHBOURS)
    assert (found.is_novel, found.causes[0].column) == (True, column)


@cache
def long_known() -> Past:
    return past(90)


@pytest.mark.parametrize("name", [name for name in SPOILT if name != "other hours"])
def test_what_a_person_released_once_does_not_come_back(name: str) -> None:
    spoil, *_ = SPOILT[name]
    first, second = (profile(spoil(trips(day)), day) for day in (90, 91))
    assert judge(first, long_known()).is_novel
    history = long_known().joined(first, released=True)
    assert not judge(second, history).is_novel
    other = some(trips(91), "plate", None, 60)
    assert judge(profile(other, 91), history).is_novel


def test_a_past_is_the_same_after_it_was_stored() -> None:
    again = from_bytes(to_bytes(known()))
    for table in (trips(TODAY), some(trips(TODAY), "fare", None, 200), doubled(trips(TODAY), "fare")):
        for method in Method:
            assert judge(profile(table, TODAY), again, method) == verdict(table, method)
    with pytest.raises(UnableToRead, match="no past of version 1"):
        from_bytes(profiles.to_bytes(profile(trips(0, 1), 0)))
    with pytest.raises(UnableToRead, match="checksum"):
        from_bytes(to_bytes(past(2))[:-1])


def test_an_accepted_alarm_does_not_come_back() -> None:
    history = known()
    assert verdict(doubled(trips(TODAY), "fare")).is_novel
    for day in range(TODAY, TODAY + 8):
        history = history.joined(profile(doubled(trips(day), "fare"), day))
    assert not judge(profile(doubled(trips(48), "fare"), 48), history).is_novel


@pytest.mark.filterwarnings("error")
def test_the_largest_doubles_have_a_verdict() -> None:
    def huge(table: pa.Table, day: int) -> pa.Table:
        return with_column(table, "fare", np.random.default_rng(day).choice([-1.7e308, 0.0, 1.7e308], 500))

    history = past(12, change=huge)
    assert judge(profile(huge(trips(12), 12), 12), history).status is not NoveltyStatus.LEARNING
