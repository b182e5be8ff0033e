from execution_engine.engines.gathering import MOST_AGGREGATES, MOST_CLAUSES, Asked, selects
from execution_engine.metrics.statistics import Gather, Statistic


def asked(column: str, where: str | None = None, gather: Gather = Gather.SUM) -> Asked:
    return Asked(statistic=Statistic(gather=gather, of=(column,)), where=where)


def test_what_is_asked_twice_is_gathered_once() -> None:
    (select,) = selects([asked("a"), asked("b"), asked("a")], together=False)
    assert select.asked == (asked("a"), asked("b"))


def test_sketches_have_a_select_of_their_own() -> None:
    given = [asked("a"), asked("b", gather=Gather.HLL), asked("c", gather=Gather.PERCENTILE)]
    assert [len(select.asked) for select in selects(given, together=False)] == [1, 2]
    assert [len(select.asked) for select in selects(given, together=True)] == [3]


def test_no_select_is_too_wide_for_generated_code() -> None:
    given = [asked(f"c{at}") for at in range(2 * MOST_AGGREGATES + 1)]
    assert [len(select.asked) for select in selects(given, together=False)] == [MOST_AGGREGATES, MOST_AGGREGATES, 1]


def test_statistics_under_several_clauses_are_gathered_by_mask() -> None:
    given = [asked(column, where) for where in ("w", "v") for column in "ab"]
    (select,) = selects(given, together=False)
    assert (select.clauses, set(select.asked)) == (("w", "v"), set(given))


def test_one_clause_needs_no_mask() -> None:
    (select,) = selects([asked("a", "w"), asked("b", "w")], together=False)
    assert select.clauses == ()


def test_what_cannot_be_merged_is_not_masked() -> None:
    exact = [asked("c", where, Gather.PERCENTILE) for where in ("w", "v")]
    masked, plain = selects([asked(c, w) for w in ("w", "v") for c in "ab"] + exact, together=False)
    assert (masked.clauses, plain.clauses, plain.asked) == (("w", "v"), (), tuple(exact))


def test_many_clauses_are_cut_into_masks() -> None:
    given = [asked(column, f"w{at}") for at in range(MOST_CLAUSES + 1) for column in "ab"] + [asked("a")]
    found = selects(given, together=False)
    assert [len(select.clauses) for select in found] == [MOST_CLAUSES, 1]
    assert sorted(map(repr, given)) == sorted(repr(one) for select in found for one in select.asked)
