"""Where what is broken in some columns shows: whoever reads them, at any number of steps, and nobody else."""

import pytest

from assay.catalog.edges import ANY, Broken, Columns, columns_below, columns_reached, is_read

FARES: Columns = {"price": ["Fare"], "place": ["city", "zone"]}


@pytest.mark.parametrize(
    ("columns", "broken", "below"),
    [
        (FARES, {"fare"}, {"price"}),
        (FARES, {"zone", "fare"}, {"price", "place"}),
        (FARES, {"tip"}, set()),
        ({**FARES, ANY: ["tip"]}, {"tip"}, None),
        (FARES, None, None),
        ({}, {"tip"}, None),
    ],
)
def test_columns_are_broken_that_are_made_of_broken_ones(
    columns: Columns, broken: set[str] | None, below: set[str] | None
) -> None:
    wrong: Broken = None if broken is None else frozenset(broken)
    assert columns_below(columns, wrong) == below
    assert is_read(columns, wrong) is (below != set())


def test_a_broken_column_reaches_along_columns_through_a_cycle_and_ends_where_nobody_reads_it() -> None:
    raw, trips, fares, places, report = range(5)
    edges: dict[int, dict[int, Columns]] = {
        trips: {raw: {"fare": ["amount"], "city": ["town"]}, fares: {"rate": ["price"]}},
        fares: {trips: {"price": ["fare"]}},
        places: {trips: {"place": ["city"]}},
        report: {fares: {}, places: {}},
    }
    reached = columns_reached(raw, frozenset({"amount"}), edges)
    named = {raw: ["amount"], trips: ["fare", "rate"], fares: ["price"]}
    assert reached == {**{at: frozenset(names) for at, names in named.items()}, report: None}
    assert columns_reached(raw, frozenset({"other"}), edges).keys() == {raw}
    assert columns_reached(trips, None, edges).keys() == {trips, fares, places, report}
