from execution_engine.engines.gathering import MOST_AGGREGATES, MOST_CLAUSES, Keyed, StatisticRequest, selects
from execution_engine.engines.spark.measures.frequencies import PULLED_BYTES, batches
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.statistics import Gather, Statistic


def request_of(column: str, where: str | None = None, gather: Gather = Gather.SUM) -> StatisticRequest:
    return StatisticRequest(statistic=Statistic(gather=gather, of=(column,)), where=where)


def test_what_is_asked_twice_is_gathered_once() -> None:
    (select,) = selects([request_of("a"), request_of("b"), request_of("a")], together=False)
    assert select.requests == (request_of("a"), request_of("b"))


def test_sketches_have_a_select_of_their_own() -> None:
    given = [request_of("a"), request_of("b", gather=Gather.HLL), request_of("c", gather=Gather.PERCENTILE)]
    assert [len(select.requests) for select in selects(given, together=False)] == [1, 2]
    assert [len(select.requests) for select in selects(given, together=True)] == [3]


def test_no_select_is_too_wide_for_generated_code() -> None:
    given = [request_of(f"c{at}") for at in range(2 * MOST_AGGREGATES + 1)]
    assert [len(select.requests) for select in selects(given, together=False)] == [MOST_AGGREGATES, MOST_AGGREGATES, 1]


def test_statistics_under_several_clauses_are_gathered_by_mask() -> None:
    given = [request_of(column, where) for where in ("w", "v") for column in "ab"]
    (select,) = selects(given, together=False)
    assert (select.clauses, set(select.requests)) == (("w", "v"), set(given))


def test_one_clause_needs_no_mask() -> None:
    (select,) = selects([request_of("a", "w"), request_of("b", "w")], together=False)
    assert select.clauses == ()


def test_what_cannot_be_merged_is_not_masked() -> None:
    exact = [request_of("c", where, Gather.PERCENTILE) for where in ("w", "v")]
    masked, plain = selects([request_of(c, w) for w in ("w", "v") for c in "ab"] + exact, together=False)
    assert (masked.clauses, plain.clauses, plain.requests) == (("w", "v"), (), tuple(exact))


def test_many_clauses_are_cut_into_masks() -> None:
    given = [request_of(column, f"w{at}") for at in range(MOST_CLAUSES + 1) for column in "ab"] + [request_of("a")]
    found = selects(given, together=False)
    assert [len(select.clauses) for select in found] == [MOST_CLAUSES, 1]
    assert sorted(map(repr, given)) == sorted(repr(one) for select in found for one in select.requests)


def test_a_mask_is_worth_it_from_two_clauses_and_two_times_each_statistic_on() -> None:
    twice = [request_of("a", "w"), request_of("a", "v")]
    assert [select.clauses for select in selects(twice, together=False)] == [("w", "v")]
    assert [select.clauses for select in selects([*twice, request_of("b", "w")], together=False)] == [()]
    assert [
        select.clauses for select in selects([*twice, request_of("b", "w"), request_of("b", "v")], together=False)
    ] == [("w", "v")]
    assert [select.clauses for select in selects(twice, together=True)] == [()]


def test_what_is_asked_without_a_clause_joins_the_first_mask_that_gathers_it() -> None:
    given = [request_of("a", "w"), request_of("a", "v"), request_of("a"), request_of("b")]
    masked, plain = selects(given, together=False)
    assert (masked.requests, masked.clauses) == (
        (request_of("a", "w"), request_of("a", "v"), request_of("a")),
        ("w", "v"),
    )
    assert (plain.requests, plain.clauses) == ((request_of("b"),), ())


def test_sketches_under_clauses_have_a_mask_of_their_own() -> None:
    given = [request_of("a", where, gather) for gather in (Gather.SUM, Gather.HLL) for where in ("w", "v")]
    sums, sketches = selects(given, together=False)
    assert (sums.requests, sums.clauses) == (tuple(given[:2]), ("w", "v"))
    assert (sketches.requests, sketches.clauses) == (tuple(given[2:]), ("w", "v"))


def test_the_limits_are_those_of_generated_code_and_of_a_mask() -> None:
    assert (MOST_AGGREGATES, MOST_CLAUSES) == (90, 10)
    full = [request_of(f"c{at}") for at in range(MOST_AGGREGATES)]
    assert [len(select.requests) for select in selects(full, together=True)] == [90]
    assert [len(select.requests) for select in selects([*full, request_of("x")], together=True)] == [90, 1]
    clauses = [request_of("a", f"w{at}") for at in range(MOST_CLAUSES)]
    assert [len(select.clauses) for select in selects(clauses, together=False)] == [10]
    assert selects([], together=False) == selects([], together=True) == []


TRIP, CITY, DAY = (Grouping(columns=(name,)) for name in ("trip", "city", "day"))


def keyed(grouping: Grouping, count: int) -> list[Keyed]:
    return [Keyed(grouping=grouping, where=f"fare > {at}") for at in range(count)]


def test_a_hundred_clauses_of_a_grouping_cost_one_pull() -> None:
    assert list(batches(keyed(TRIP, 100), 10**7)) == [keyed(TRIP, 100)]


def test_groupings_are_pulled_together_as_far_as_the_driver_has_room() -> None:
    wanted = [*keyed(TRIP, 2), *keyed(CITY, 2), *keyed(DAY, 2)]
    assert list(batches(wanted, PULLED_BYTES // 16)) == [wanted[:4], wanted[4:]]
    assert list(batches(wanted, PULLED_BYTES)) == [wanted[:2], wanted[2:4], wanted[4:]]
