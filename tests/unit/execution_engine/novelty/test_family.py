"""One alarm for all columns: its distances, z's beside scipy, how often sound days raise it, and what it finds."""

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy.stats import chi2, norm

from execution_engine.novelty.days import Method
from execution_engine.novelty.family import RANKED, FamilyDistances, bound_of, distances_of, standardised
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past
from execution_engine.novelty.verdict import NoveltyStatus, NoveltyVerdict
from execution_engine.profiles.gather import gathered_profile
from tests.unit.execution_engine.novelty.batches import past, past_of, profile, trips, with_column

TODAY = 40
COLUMNS, ROWS = 500, 1000

Floats = npt.NDArray[np.float64]


@cache
def known() -> Past:
    return past(TODAY)


def verdict(table: pa.Table, history: Past | None = None) -> NoveltyVerdict:
    return judge(profile(table, TODAY), history or known(), Method.DRIFT)


def drawn_family(degrees: Floats, days: int, drawn: np.random.Generator) -> FamilyDistances:
    """Distances as sampling gives them, each day beside all before it."""
    before = np.repeat(np.arange(1.0, days + 1)[:, None], len(degrees), axis=1)
    distances = drawn.chisquare(degrees, (days, len(degrees))) / ROWS * (1 + 1 / before)
    return FamilyDistances(
        tests=(), values=distances, distances=distances, expected=np.broadcast_to(degrees / ROWS, distances.shape),
        degrees=degrees, before=before,
    )  # fmt: skip


def test_z_is_that_of_the_chi_square_which_the_distance_is() -> None:
    degrees = np.full(200, 9.0)
    found = drawn_family(degrees, 366, np.random.default_rng(1))
    exact = norm.isf(chi2.sf(found.distances / (1 + 1 / found.before) * ROWS, degrees))
    z = standardised(found)
    assert np.nanmean(np.abs(z - exact)) < 0.1
    assert np.corrcoef(z.ravel(), exact.ravel())[0, 1] > 0.99


def test_no_day_has_a_part_of_its_own_in_the_z_s() -> None:
    found = drawn_family(np.full(5, 4.0), 12, np.random.default_rng(2))
    order = np.random.default_rng(3).permutation(12)
    shuffled = FamilyDistances(**{
        **found.__dict__, "distances": found.distances[order], "before": found.before[order],
        "expected": found.expected[order],
    })  # fmt: skip
    assert standardised(shuffled) == pytest.approx(standardised(found)[order])


@pytest.mark.parametrize("days", [8, 30, RANKED])
def test_500_columns_raise_no_more_than_one_alarm_in_100_sound_days(days: int) -> None:
    drawn, alarms, trials = np.random.default_rng(days), 0, 60
    for _ in range(trials):
        degrees = drawn.integers(1, 12, COLUMNS).astype(np.float64)
        z = np.nan_to_num(standardised(drawn_family(degrees, days + 1, drawn))).max(axis=1)
        alarms += bool(z[-1] > bound_of(z[:-1], COLUMNS))
    assert alarms <= 3  # at 1 % more than 3 of 60 come once in 300 such tests


def test_from_99_days_on_the_bound_is_a_rank_whatever_the_distribution() -> None:
    maxima = np.random.default_rng(5).pareto(1, RANKED) * 100
    assert bound_of(maxima, 10) == maxima.max()
    assert bound_of(np.append(maxima, [0.0] * 100), 10) == np.sort(maxima)[-2]
    assert bound_of(np.zeros(RANKED), 500) == pytest.approx(norm.isf(0.01 / 500))


def test_sound_days_are_like_those_before_them() -> None:
    said = [judge(profile(trips(day), day), past(day), Method.DRIFT).status for day in (3, 8, 20)]
    assert said == [NoveltyStatus.LEARNING, NoveltyStatus.LIKE, NoveltyStatus.LIKE]
    assert verdict(trips(TODAY)).status is NoveltyStatus.LIKE


def test_a_shift_of_three_tenths_of_a_standard_deviation_is_found_in_its_column() -> None:
    fares = trips(TODAY)["fare"].to_numpy(zero_copy_only=False)
    found = verdict(with_column(trips(TODAY), "fare", pa.array(fares + 0.3 * np.nanstd(fares), from_pandas=True)))
    assert [cause.column for cause in found.causes] == ["fare"]
    assert found.causes[0].text.startswith("population stability index of fare: 0.")
    assert (found.score or 0) > (found.threshold or np.inf)


def test_a_new_value_is_found_and_named() -> None:
    cities = trips(TODAY)["city"].to_pylist()
    found = verdict(with_column(trips(TODAY), "city", ["Jeju"] * 50 + cities[50:]))
    assert (found.causes[0].column, found.causes[0].new_values) == ("city", ("Jeju",))


def test_texts_that_hardly_repeat_are_judged_by_their_shapes() -> None:
    plates = [f"{plate[:2]}-{plate[2:]}" for plate in trips(TODAY)["plate"].to_pylist()]
    (cause,) = verdict(with_column(trips(TODAY), "plate", plates)).causes
    assert (cause.column, cause.statistic) == ("plate", "distance of the shapes from the past")
    assert ("plate", "shapes_distance") in distances_of(known().batch_of(profile(trips(0), 0)), known()).tests


def test_missing_values_are_a_distance_by_themselves() -> None:
    fares = trips(TODAY)["fare"].to_pylist()
    found = verdict(with_column(trips(TODAY), "fare", pa.array([None] * 60 + fares[60:], pa.float64())))
    assert found.causes[0].text.startswith("share of complete values of fare: 0.8")


def test_a_column_that_is_gone_or_of_another_kind_is_news_by_itself() -> None:
    table = with_column(trips(TODAY).drop_columns(["tip"]), "fare", ["x"] * 500)
    texts = [cause.text for cause in verdict(table).causes]
    assert texts[:2] == ["kind of the values of fare: text, usually number", "column of tip: missing, usually there"]


def test_a_small_day_is_no_drift() -> None:
    assert verdict(trips(TODAY, rows=60)).status is NoveltyStatus.LIKE


def test_what_never_changed_may_change_by_as_much_as_chance_would() -> None:
    history = past_of(gathered_profile([pa.table({"code": ["a"] * 600 + ["b"] * 400})]) for _ in range(TODAY))
    for moved, status in ((1, NoveltyStatus.LIKE), (10, NoveltyStatus.LIKE), (120, NoveltyStatus.NOVEL)):
        table = pa.table({"code": ["a"] * (600 - moved) + ["b"] * (400 + moved)})
        assert judge(gathered_profile([table]), history, Method.DRIFT).status is status


def test_a_released_drift_is_no_news_again_and_another_one_is() -> None:
    fares = trips(TODAY)["fare"].to_numpy(zero_copy_only=False)
    dearer = profile(with_column(trips(TODAY), "fare", pa.array(fares * 1.5, from_pandas=True)), TODAY)
    assert judge(dearer, known(), Method.DRIFT).is_novel
    released = known().joined(dearer, released=True)
    again = trips(TODAY + 1)["fare"].to_numpy(zero_copy_only=False) * 1.5
    table = with_column(trips(TODAY + 1), "fare", pa.array(again, from_pandas=True))
    assert not judge(profile(table, TODAY + 1), released, Method.DRIFT).is_novel
    assert judge(profile(with_column(table, "city", ["Jeju"] * 500), TODAY + 1), released, Method.DRIFT).is_novel


def test_a_batch_without_rows_has_no_distance() -> None:
    found = distances_of(known().batch_of(profile(trips(TODAY)[:0], TODAY)), known())
    assert np.isnan(found.distances[-1]).all()
    assert verdict(trips(TODAY)[:0]).status is NoveltyStatus.LIKE
