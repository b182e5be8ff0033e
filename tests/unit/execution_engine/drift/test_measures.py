"""The four measures beside scipy and numpy on the raw values, and their limits."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency, ks_2samp
from scipy.stats.contingency import association

from execution_engine.drift import Distances, DriftBasis, distances_of
from execution_engine.profiles.gather import column_profile
from execution_engine.profiles.profile import KEPT, ColumnProfile, merged_columns

SEED = np.random.default_rng(7)
SMALL = SEED.normal(0, 1, 1500), SEED.normal(0.3, 1.2, 900)  # every number is in the profile
LARGE = SEED.gamma(3, 4, 60_000), SEED.gamma(3, 4.2, 40_000)  # a thousand ranks are
CODES = SEED.choice(5, 3000, p=[0.5, 0.2, 0.1, 0.1, 0.1]), SEED.choice(5, 2000, p=[0.4, 0.3, 0.1, 0.1, 0.1])


def distances(found: Any, before: Any) -> Distances:
    told = distances_of(column_profile(pa.array(found)), column_profile(pa.array(before)))
    assert told is not None
    return told


def by_deciles(found: Any, before: Any) -> tuple[Any, Any]:
    """Counts in the reference's deciles by numpy."""
    edges = np.quantile(before, np.arange(1, 10) / 10, method="inverted_cdf")
    ours, theirs = (np.bincount(np.searchsorted(edges, side, side="left"), minlength=10) for side in (found, before))
    return ours, theirs


def index(found: Any, before: Any) -> float:
    """The population stability index by its formula, half a row of the smaller side in each bin."""
    smooth = 0.5 / min(found.sum(), before.sum())
    p, q = ((side / side.sum() + smooth) / (1 + smooth * len(side)) for side in (found, before))
    return float(np.sum((p - q) * np.log(p / q)))


@pytest.mark.parametrize(("sides", "tolerance"), [(SMALL, 1e-9), (LARGE, 2 / 1024)])
def test_numbers_are_compared_as_scipy_compares_them(sides: Any, tolerance: float) -> None:
    told, counts = distances(*sides), by_deciles(*sides)
    assert told.compared is DriftBasis.NUMBERS
    assert told.ks == pytest.approx(ks_2samp(*sides).statistic, abs=tolerance)
    assert told.psi == pytest.approx(index(*counts), abs=tolerance)
    assert told.js == pytest.approx(jensenshannon(*counts, base=2), abs=tolerance)
    chi2 = chi2_contingency(np.array(counts), correction=False)
    assert told.v == pytest.approx((chi2.statistic / sum(map(len, sides))) ** 0.5, abs=tolerance)
    assert told.chi2 == pytest.approx(chi2.statistic, rel=50 * tolerance)
    assert told.degrees == chi2.dof


def test_texts_are_compared_as_scipy_compares_them() -> None:
    found, before = (np.array(list("abcde"))[side] for side in CODES)
    counts = [np.bincount(side, minlength=5) for side in CODES]
    told = distances(found, before)
    assert (told.compared, told.ks, told.degrees) == (DriftBasis.VALUES, None, 4)
    assert told.psi == pytest.approx(index(*counts))
    assert told.js == pytest.approx(jensenshannon(*counts, base=2))
    assert told.chi2 == pytest.approx(chi2_contingency(counts, correction=False).statistic)
    assert told.v == pytest.approx(association(np.array(counts), method="cramer"))
    assert told.moved is not None
    assert (told.moved.bin.value, told.moved.share) == ("a", counts[0][0] / 3000)


def test_codes_that_many_rows_share_are_bins_of_their_own() -> None:
    found, before = CODES
    told, counts = distances(found, before), [np.bincount(side, minlength=5) for side in CODES]
    assert told.compared is DriftBasis.NUMBERS
    assert told.js == pytest.approx(jensenshannon(*counts, base=2))
    assert told.ks == pytest.approx(ks_2samp(found, before).statistic)


def test_a_constant_that_becomes_another_one_has_nothing_in_common() -> None:
    for now in (3, 7):
        told = distances([now] * 50, [5] * 50)
        assert (told.js, told.ks, told.v) == (1.0, 1.0, 1.0)
        assert told.psi > 3


def test_parts_that_are_merged_differ_as_the_whole_does() -> None:
    found, before = (pa.array(side) for side in LARGE)
    parts = merged_columns([column_profile(before[at : at + 20_000]) for at in range(0, 60_000, 20_000)])
    told, whole = distances_of(column_profile(found), parts), distances(found, before)
    assert told is not None
    assert told.psi == pytest.approx(whole.psi, rel=0.1)
    assert told.ks == pytest.approx(whole.ks, abs=4 / 1024)


def test_a_value_that_the_reference_may_have_hidden_is_no_news() -> None:
    rare = [f"r{at}" for at in range(3000)]
    whole = column_profile(pa.array(["often"] * 3000 + rare * 2))
    cut = ColumnProfile(**{**whole.__dict__, "values": whole.values.capped(KEPT.values)})
    told = distances_of(whole, cut)
    assert told is not None
    assert told.psi == pytest.approx(0, abs=1e-9)
    new = column_profile(pa.array(["often"] * 3000 + rare + ["new"] * 3000))
    assert (found := distances_of(new, cut)) is not None
    assert found.moved is not None
    assert found.psi > 1


def test_texts_that_hardly_repeat_are_compared_by_their_shapes() -> None:
    plates = [[f"{SEED.integers(99):02d}B{number:05d}" for number in SEED.permutation(90_000)[:500]] for _ in range(2)]
    told = distances(*plates)
    assert (told.compared, told.psi) == (DriftBasis.SHAPES, 0)
    assert distances([f"x-{text}" for text in plates[0]], plates[1]).psi > 3


def test_without_a_value_on_one_side_there_is_no_distance() -> None:
    for values in ([None, None], [float("nan")] * 2):
        empty = column_profile(pa.array(values, pa.float64()))
        assert distances_of(empty, column_profile(pa.array([1.0, 2.0]))) is None
        assert distances_of(column_profile(pa.array([1.0, 2.0])), empty) is None


sides = st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e300, 1e300)), min_size=1, max_size=60)


@given(sides, sides)
@settings(max_examples=60, deadline=None)
def test_measures_stay_within_their_bounds_and_are_0_of_equal_sides(found: list[float], before: list[float]) -> None:
    told = distances(found, before)
    assert told.psi >= 0
    assert told.ks is not None
    assert 0 <= told.js <= 1 + 1e-12
    assert 0 <= told.ks <= 1
    assert 0 <= told.v <= 1 + 1e-12
    same = distances(found, found)
    assert (same.psi, same.ks, same.chi2, same.moved) == (0, 0, 0, None)
