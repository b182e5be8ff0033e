"""Which slice explains a change, or that none does: days are drawn here, so what was done to the last one is known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats

from execution_engine.attribution import (
    COLUMN_PRICE,
    HEAVINESS,
    Cells,
    Explanation,
    Floats,
    Measure,
    Reason,
    cells_of,
    expectation_of,
    explain,
    groups_of,
    likeliest_slice,
)

CITIES, SOURCES, APPS = ("SF", "NY", "LA", "Rome"), ("ios", "web", "android"), ("ride", "eats")
COLUMNS = ("city", "source", "app")
CELLS = list(product(CITIES, SOURCES, APPS))
DAYS = 15

Condition = Callable[[str, str, str], bool]


def world(rows: float = 40.0, noise: float = 0.2, seed: int = 1) -> Floats:
    """(days, cells): rows that differ from day to day by less than chance, as schedules do."""
    drawn = np.random.default_rng(seed)
    size = drawn.uniform(0.5, 1.5, len(CELLS)) * rows
    return np.rint(np.maximum(drawn.normal(size, noise * np.sqrt(size), (DAYS, len(CELLS))), 0))


def where(condition: Condition) -> npt.NDArray[np.bool_]:
    return np.array([condition(*cell) for cell in CELLS])


def table(
    part: Floats, measure: Measure = Measure.ROWS, whole: Floats | None = None, squares: Floats | None = None
) -> Cells:
    values = (CITIES, SOURCES, APPS)
    codes = np.array([[names.index(name) for names, name in zip(values, cell, strict=True)] for cell in CELLS])
    return Cells(measure=measure, columns=COLUMNS, values=values, codes=codes, part=part, whole=whole, squares=squares)


def shares(rows: Floats, share: float, seed: int = 2) -> Floats:
    return np.random.default_rng(seed).binomial(rows.astype(int), share).astype(float)


def names(explanation: Explanation) -> list[str]:
    return [slice_.name for slice_ in explanation.slices]


def times(rows: Floats, inside: npt.NDArray[np.bool_], factor: float) -> Floats:
    """The rows with those cells of the last day times a factor."""
    spoilt = rows.copy()
    spoilt[-1, inside] = np.rint(spoilt[-1, inside] * factor)
    return spoilt


def test_rows_lost_in_a_slice_are_told_with_their_figures() -> None:
    explanation = explain(table(times(world(), where(lambda city, source, _: (city, source) == ("SF", "ios")), 0.4)))
    assert explanation.sentence == (
        "city = 'SF' and source = 'ios': 10 % of the rows, more than the whole change (98 expected, 40 seen, × 0.408). "
        "Other rows moved back, no more than usual."
    )
    assert explanation.slices[0].where == "city = 'SF' AND source = 'ios'"
    assert explanation.scope == "Columns searched: city, source, app."


def test_one_column_is_enough_where_all_of_its_rows_moved() -> None:
    assert names(explain(table(times(world(), where(lambda city, *_: city == "SF"), 0.6)))) == ["city = 'SF'"]


def test_two_causes_are_both_named() -> None:
    rows = times(world(), where(lambda city, *_: city == "SF"), 0.3)
    rows = times(rows, where(lambda city, source, _: (city, source) == ("Rome", "web")), 0.3)
    assert names(explain(table(rows))) == ["city = 'SF'", "city = 'Rome' and source = 'web'"]


def test_two_columns_are_named_though_most_rows_of_one_are_in_the_other() -> None:
    rows = world() * np.where(where(lambda city, source, _: source == "ios" and city != "SF"), 0.15, 1)
    explanation = explain(table(times(rows, where(lambda city, source, _: (city, source) == ("SF", "ios")), 0.4)))
    assert names(explanation) == ["city = 'SF' and source = 'ios'"]


def test_a_part_that_lost_most_does_not_hide_the_whole_that_lost() -> None:
    rows = times(world(), where(lambda city, *_: city == "SF"), 0.6)
    rows = times(rows, where(lambda *cell: cell == ("SF", "web", "eats")), 0.7)
    assert names(explain(table(rows)))[0] == "city = 'SF'"


@pytest.mark.parametrize("factor", [0.7, 0.95, 1.4])
def test_no_slice_explains_what_happens_to_all_rows(factor: float) -> None:
    explanation = explain(table(times(world(), where(lambda *_: True), factor)))
    assert (explanation.reason, explanation.slices) == (Reason.EVEN, ())
    assert explanation.sentence.startswith("No slice explains it: city, source, app moved alike (× ")


def test_no_slice_is_named_on_a_day_like_the_others() -> None:
    explanations = [explain(table(world(seed=seed))) for seed in range(100)]
    assert sum(bool(explanation.slices) for explanation in explanations) <= 1


def test_a_slice_that_often_moves_so_is_not_named() -> None:
    rows, inside = world(), where(lambda city, *_: city == "SF")
    for day in (1, 4, 6, 9, 12, 14):
        rows[day, inside] *= 0.6
    assert explain(table(rows)).reason is Reason.USUAL


def test_one_storm_in_the_past_does_not_silence_the_next_two_weeks() -> None:
    rows, inside = world(), where(lambda city, *_: city == "SF")
    rows[9, inside] *= 0.2
    assert names(explain(table(times(rows, inside, 0.7)))) == ["city = 'SF'"]


def test_a_slice_with_less_than_half_of_the_change_is_not_named() -> None:
    rows, drawn = world(), np.random.default_rng(5)
    rows[-1] = np.rint(rows[-1] * np.where(drawn.random(len(CELLS)) < 0.5, 0.5, 1))
    explanation = explain(table(rows))
    assert explanation.reason in (Reason.SCATTERED, Reason.EVEN)


def test_schedules_are_calmer_than_chance_so_few_rows_tell() -> None:
    inside = where(lambda city, source, _: (city, source) == ("SF", "web"))
    assert names(explain(table(times(world(noise=0.05), inside, 0.8)))) == ["city = 'SF' and source = 'web'"]
    assert not explain(table(times(world(noise=1.0), inside, 0.8))).slices


def test_a_new_value_has_its_own_sentence() -> None:
    rows, inside = world(), where(lambda city, *_: city == "Rome")
    rows[:-1, inside] = 0
    assert explain(table(rows)).sentence.startswith("city = 'Rome': never seen before, ")


def test_missing_values_in_rows_of_a_slice_are_found_though_hardly_one_was_due() -> None:
    rows = world()
    missing, inside = shares(rows, 0.002), where(lambda _, source, app: (source, app) == ("ios", "ride"))
    missing[-1, inside] += np.rint(rows[-1, inside] * 0.3)
    explanation = explain(table(missing, Measure.SHARE, whole=rows))
    assert names(explanation) == ["source = 'ios' and app = 'ride'"]
    complete = explain(table(rows - missing, Measure.SHARE, whole=rows))
    assert names(complete) == names(explanation)
    assert complete.slices[0].seen == rows[-1, inside].sum() - explanation.slices[0].seen


def test_a_few_missing_values_where_none_was_due_are_no_certainty() -> None:
    rows = world()
    missing = shares(rows, 0.0005)
    missing[-1] = 0
    missing[-1, 5] = 2
    assert not explain(table(missing, Measure.SHARE, whole=rows)).slices


def test_a_mean_that_never_varies_within_a_cell_is_no_trouble() -> None:
    rows, miles = world(), np.arange(len(CELLS)) + 5.0
    sums, inside = rows * miles, where(lambda city, *_: city == "LA")
    sums[-1, inside] *= 2
    explanation = explain(table(sums, Measure.MEAN, whole=rows, squares=rows * miles**2))
    assert names(explanation) == ["city = 'LA'"]
    assert "100 % of the change (19.37 expected, 38.75 seen, × 2). Nothing else moved." in explanation.sentence


def test_large_figures_are_written_without_powers_of_ten() -> None:
    rows, pence = world(), np.full(len(CELLS), 52_345.6)
    sums, inside = rows * pence, where(lambda city, *_: city == "LA")
    sums[-1, inside] *= 1000
    explanation = explain(table(sums, Measure.MEAN, whole=rows, squares=rows * pence**2))
    assert "(52,346 expected, 52,345,600 seen, × 1,000)" in explanation.sentence


def test_of_a_slice_that_is_gone_no_factor_is_told() -> None:
    explanation = explain(table(times(world(), where(lambda city, *_: city == "SF"), 0)))
    assert " expected, 0 seen). " in explanation.sentence


def test_of_a_whole_that_did_not_move_a_slice_has_no_share() -> None:
    rows = np.full((DAYS, len(CELLS)), 40.0)
    rows = times(rows, where(lambda city, *_: city == "SF"), 0.5)
    rows = times(rows, where(lambda city, *_: city == "NY"), 1.5)
    explanation = explain(table(rows))
    assert [slice_.share_of_change for slice_ in explanation.slices] == [None, None]
    assert (
        "city = 'SF': 25 % of the rows, though the whole did not move (240 expected, 120 seen, × 0.5)."
        in explanation.sentence
    )


@pytest.mark.parametrize(
    ("cells", "expected", "seen", "rest"),
    [
        (lambda rows, half, _: table(half), 60.0, 30.0, 180.0),
        (lambda rows, half, _: table(3 * half, Measure.SUM, whole=rows), 180.0, 90.0, 540.0),
        (lambda rows, _, gaps: table(gaps, Measure.SHARE, whole=rows), 6.0, 30.0, 18.0),
        (lambda rows, _, gaps: table(rows - gaps, Measure.SHARE, whole=rows), 54.0, 30.0, 162.0),
        (
            lambda rows, half, _: table(3 * half, Measure.MEAN, whole=rows, squares=10 * half),
            *(3.0, 1.5, 3.0),
        ),
    ],
    ids=["rows", "sums", "missing values", "complete values", "means"],
)
def test_a_slice_has_what_was_expected_and_seen_on_each_day_beside_the_rest(
    cells: Callable[[Floats, Floats, Floats], Cells], expected: float, seen: float, rest: float
) -> None:
    rows, inside = np.full((DAYS, len(CELLS)), 10.0), where(lambda city, *_: city == "SF")
    gaps = rows * 0.1
    gaps[-1, inside] = 5.0
    explanation = explain(cells(rows, times(rows, inside, 0.5), gaps))
    (found,) = explanation.slices
    assert (found.values, found.is_new, found.same_rows) == ({"city": "SF"}, False, ())
    assert (found.seen, found.share_of_rows) == (seen, 0.25)
    assert found.expected == pytest.approx(expected)
    assert found.share_of_change == pytest.approx(1)
    assert (found.line, found.rest_line) == ((*[pytest.approx(expected)] * (DAYS - 1), seen), (rest,) * DAYS)
    assert (explanation.past_days, explanation.is_mix, bool(explanation.is_rest_calm)) == (14, False, True)


def test_sums_are_explained_as_rows_are() -> None:
    rows = world()
    sums, inside = rows * (np.arange(len(CELLS)) + 5.0), where(lambda city, *_: city == "LA")
    assert names(explain(table(times(sums, inside, 0.5), Measure.SUM, whole=rows))) == ["city = 'LA'"]


def test_a_share_moved_by_the_mix_of_rows_is_explained_by_rows() -> None:
    rows, level = world(), np.where(where(lambda city, *_: city == "SF"), 0.5, 0.02)
    rows = times(rows, where(lambda city, *_: city == "SF"), 0.2)
    explanation = explain(table(np.rint(rows * level), Measure.SHARE, whole=rows))
    assert (explanation.is_mix, names(explanation)) == (True, ["city = 'SF'"])
    assert explanation.sentence.startswith("The mix of rows moved, not what is in them. city = 'SF': ")


def test_columns_that_name_the_same_rows_are_told_once() -> None:
    cells = table(times(world(), where(lambda city, *_: city == "SF"), 0.5))
    twin = replace(
        cells,
        columns=(*COLUMNS, "state"),
        values=(*cells.values, ("CA", "NY", "CA?", "Lazio")),
        codes=np.column_stack([cells.codes, cells.codes[:, 0]]),
    )
    assert " The same rows: state = 'CA'. " in explain(twin).sentence
    assert names(explain(twin)) == ["city = 'SF'"]


def test_a_past_of_few_days_says_nothing() -> None:
    cells = table(world()[-5:])
    assert explain(cells).sentence == "No slice is searched for: 4 past days are fewer than 7."


def test_cells_of_days_are_added_up_and_a_missing_value_is_a_value() -> None:
    days = [
        pa.table({"city": ["SF", None, "SF"], "part": [1, 2, 3]}),
        pa.table({"city": [None], "part": [5]}),
    ]
    cells = cells_of(Measure.ROWS, ["city"], days)
    assert {cells.values[0][code]: cells.part[:, at].tolist() for at, (code,) in enumerate(cells.codes)} == {
        "SF": [4, 0],
        None: [2, 5],
    }


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"measure": Measure.SHARE}, "whole of a share must be 15 days by 24 cells"),
        ({"part": np.full((15, 24), np.nan)}, "part has numbers that are not finite"),
        ({"part": np.ones((1, 24))}, "one past day at least"),
        ({"columns": ("city",)}, "a column for each of city"),
    ],
)
def test_cells_that_do_not_fit_are_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        replace(table(world()), **change)  # type: ignore[arg-type]


def test_values_are_quoted_in_conditions() -> None:
    cells = table(times(world(), where(lambda city, *_: city == "SF"), 0.5))
    odd = replace(cells, columns=("the city", "source", "app"), values=(("L'Aquila", *CITIES[1:]), SOURCES, APPS))
    assert explain(odd).slices[0].where == "`the city` = 'L''Aquila'"


@pytest.mark.parametrize("measure", [Measure.ROWS, Measure.SHARE])
def test_the_best_slice_is_that_of_a_search_through_all_of_them(measure: Measure) -> None:
    rows = world()
    part = shares(rows, 0.1) if measure is Measure.SHARE else rows
    part = times(part, where(lambda city, source, _: (city, source) == ("SF", "ios")), 0.4)
    cells = table(part, measure, whole=rows)
    everything = np.ones(len(CELLS), bool)
    today = expectation_of(cells).of(slice(-1, None), everything)
    best = likeliest_slice(today, groups_of(cells.codes), everything, (np.sign(today.change.sum()),))
    assert best.score == pytest.approx(max(_scores(today, cells.codes, measure)))


def _scores(today: object, codes: npt.NDArray[np.int64], measure: Measure) -> Sequence[float]:
    """Of all slices that move as the whole does, each by itself, by scipy's own distributions."""
    seen, expected, rows, reach, spread = (
        getattr(today, name)[0] for name in ("seen", "expected", "rows", "reach", "spread")
    )
    scores = []
    for columns in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        slices = sorted({tuple(code) for code in codes[:, columns]})
        for values in slices:
            at = np.flatnonzero((codes[:, columns] == values).all(axis=1))
            change = (seen - expected)[at].sum()
            if change * (seen - expected).sum() <= 0:
                continue
            if measure is Measure.ROWS:
                factor = change / reach[at].sum()
                hit = min(abs(factor), 1)
                wide = spread[at] + reach[at] * hit * (1 - hit)
                fault = stats.t.logpdf(seen[at], HEAVINESS, expected[at] + factor * reach[at], np.sqrt(wide))
                chance = stats.t.logpdf(seen[at], HEAVINESS, expected[at], np.sqrt(spread[at]))
            else:
                factor = change / ((rows - expected)[at].sum() if change >= 0 else expected[at].sum())
                level = expected[at] / rows[at]
                share = level + factor * (1 - level) if change >= 0 else level * (1 + factor)
                fault, chance = (
                    stats.betabinom.logpmf(seen[at], rows[at], side * spread[at], (1 - side) * spread[at])
                    for side in (share, level)
                )
            scores.append(float((fault - chance).sum()) - np.log(len(slices)) - COLUMN_PRICE * len(columns))
    return scores
