"""The arithmetic of scores beside scipy, scikit-learn and numpy."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency, ks_2samp, nbinom, norm, t

from benchmarks.novelty.contenders import chi_square, kolmogorov_smirnov
from execution_engine.drift import jensen_shannon
from execution_engine.novelty.batch import FEATURES, PooledNumbers, companions, matched, of_values, stability, surprise
from execution_engine.novelty.judge import judged
from execution_engine.novelty.scores import (
    BatchHistory,
    leave_one_out,
    normal_of_t,
    of_one,
    rare_leave_one_out,
    rare_of_one,
    threshold,
)
from execution_engine.novelty.statistics import PLACE, RARE, STATISTICS
from execution_engine.profiles.gather import column_profile
from execution_engine.profiles.values import ValueCounts

DRAWN = np.random.default_rng(5)


def history_of(
    numbers: npt.NDArray[np.float64], floor: float, counts: npt.NDArray[np.int64] | None = None
) -> BatchHistory:
    """Of one column: all statistics are the same numbers, and all rare counts are so many out of a thousand rows."""
    shape = (len(numbers), 1, len(STATISTICS))
    scaled = np.broadcast_to(np.asarray(numbers, float)[:, None, None], shape).copy()
    rare = np.zeros(len(numbers)) if counts is None else counts
    rare_shape = (len(numbers), 1, len(RARE))
    return BatchHistory(
        scaled=scaled,
        floors=np.full(shape, floor),
        least=np.zeros(shape),
        shown=scaled,
        rare=np.broadcast_to(rare[:, None, None], rare_shape).astype(float),
        of=np.full(rare_shape, 1000.0),
    )


def z_of(history: BatchHistory, value: float, floor: float, name: str = "mean") -> float:
    shape = (1, len(STATISTICS))
    return float(of_one(history, np.full(shape, value), np.full(shape, floor), np.zeros(shape))[0, PLACE[name]])


@pytest.mark.parametrize("freedom", [7, 20, 89, 1e6])
@pytest.mark.parametrize("value", [-6.0, -1.0, 0.5, 3.0, 8.0])
def test_student_s_t_becomes_the_normal_z_of_the_same_tail(freedom: float, value: float) -> None:
    exact = float(np.sign(value) * norm.isf(t.sf(abs(value), freedom)))
    assert float(normal_of_t(np.array(value), np.array(freedom))) == pytest.approx(exact, rel=0.02)


def test_without_a_floor_a_z_is_that_of_the_predictive_t() -> None:
    numbers = DRAWN.normal(10, 2, 30)
    exact = (14 - numbers.mean()) / np.sqrt(numbers.var(ddof=1) * (1 + 1 / 30))
    found = z_of(history_of(numbers, 1e-6), 14, 1e-6)
    assert found == pytest.approx(norm.isf(t.sf(exact, 29)), rel=0.02)


def test_a_constant_s_floor_shrinks_with_its_history() -> None:
    short, long = (z_of(history_of(np.ones(length), 0.1), 1.1, 0.1) for length in (8, 90))
    assert short == pytest.approx(np.sqrt(9 / 1), rel=0.01)
    assert long == pytest.approx(np.sqrt(91 / 1), rel=0.01)
    assert z_of(history_of(np.ones(90), 0.1), 1.1, 0.1, "above") == pytest.approx(1, rel=0.01)  # new extremes come


def test_too_short_a_history_says_nothing() -> None:
    assert np.isnan(z_of(history_of(np.ones(3), 0.1), 5, 0.1))


def test_each_batch_of_history_is_judged_by_the_others() -> None:
    numbers, floor = DRAWN.normal(10, 2, 20), 0.3
    counts = DRAWN.poisson(3, 20)
    history = history_of(numbers, floor, counts)
    found = leave_one_out(history)[:, 0, PLACE["mean"]]
    others = [z_of(history_of(np.delete(numbers, at), floor), numbers[at], floor) for at in range(20)]
    assert found.tolist() == pytest.approx(others, rel=1e-9)
    rare = rare_leave_one_out(history)[:, 0, 0]
    spread = max(1.0, float(((counts - counts.mean()) ** 2).sum() / counts.mean() / 19))
    rest = [np.delete(counts, at).sum() for at in range(20)]
    assert rare.tolist() == pytest.approx(
        [nb(c, r, 19_000) / np.sqrt(spread) for c, r in zip(counts, rest, strict=True)]
    )


def nb(count: int, total: int, rows: int) -> float:
    """The normal z of the negative binomial's upper tail, mid-p, for a count out of 1,000 rows."""
    tail = nbinom(total + 0.5, rows / (rows + 1000))
    return float(norm.isf(tail.sf(count) + 0.5 * tail.pmf(count)))


@pytest.mark.parametrize(("count", "total"), [(0, 0), (1, 0), (5, 0), (9, 30), (80, 300)])
def test_rare_counts_have_the_tail_of_the_negative_binomial(count: int, total: int) -> None:
    counts = np.full(30, total / 30)
    shape = (1, len(RARE))
    found = rare_of_one(history_of(np.ones(30), 0.1, counts), np.full(shape, count), np.full(shape, 1000.0))
    assert found[0, 0] == pytest.approx(nb(count, total, 30_000), rel=1e-6)


def test_counts_beyond_all_probability_still_have_a_size() -> None:
    shape = (1, len(RARE))
    sizes = [
        rare_of_one(history_of(np.ones(30), 0.1), np.full(shape, count), np.full(shape, 1000.0))[0, 0]
        for count in (100.0, 200.0, 400.0, 1000.0)
    ]
    assert np.isfinite(sizes).all()
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("statistics", [20, 500])
@pytest.mark.parametrize("history", [0, 8, 90])
def test_one_sound_batch_in_a_hundred_is_above_the_threshold(statistics: int, history: int) -> None:
    alarms = []
    for _ in range(300):
        scores = np.abs(DRAWN.normal(size=(history + 20, statistics))).max(axis=1)
        alarms.append((scores[history:] > threshold(scores[:history], statistics)).mean())
    assert np.mean(alarms) < 0.03


def test_distances_of_counts_are_those_of_scipy() -> None:
    p, q = DRAWN.dirichlet(np.ones(30)), DRAWN.dirichlet(np.ones(30))
    assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, base=2))
    keys = np.arange(40, dtype=np.uint64)
    batch = ValueCounts(keys=keys[:30], counts=DRAWN.integers(1, 9, 30), labels=np.full(30, None, object))
    past = ValueCounts(keys=keys[10:], counts=DRAWN.integers(1, 99, 30), labels=np.full(30, None, object))
    first, second = np.zeros(40), np.zeros(40)
    first[:30], second[10:] = batch.counts, past.counts
    found = of_values(batch, past, matched(batch, past))
    assert found == pytest.approx(jensenshannon(first, second, base=2))


def test_the_paper_s_distances_are_those_of_scikit_learn() -> None:
    from sklearn.neighbors import NearestNeighbors  # two seconds, which who runs other tests need not wait for
    from sklearn.preprocessing import MinMaxScaler

    past, new = DRAWN.normal(size=(50, 2, len(FEATURES))), DRAWN.normal(size=(2, len(FEATURES)))
    found = judged(past, new)
    scaler = MinMaxScaler().fit(past.reshape(50, -1))
    tree = NearestNeighbors(n_neighbors=5).fit(scaler.transform(past.reshape(50, -1)))
    assert found.distance == pytest.approx(tree.kneighbors(scaler.transform(new.reshape(1, -1)))[0].mean())
    own = tree.kneighbors()[0].mean(axis=1)  # without the point itself
    assert found.threshold == pytest.approx(np.percentile(own, 99))


def test_the_stability_index_is_that_of_its_formula() -> None:
    past, new = DRAWN.normal(size=(40, 5000)), DRAWN.normal(0.3, 1.2, 4000)
    pool = PooledNumbers()
    for batch in past:
        numbers = column_profile(pa.array(batch)).numbers
        assert numbers is not None
        pool = pool.joined(numbers)
    numbers = column_profile(pa.array(new)).numbers
    assert numbers is not None
    edges = [-np.inf, *np.quantile(past, np.arange(1, 10) / 10), np.inf]
    expected, found = (np.histogram(each, edges)[0] / each.size for each in (past.ravel(), new))
    index = ((found - expected) * np.log(found / expected)).sum()
    assert stability(numbers, pool) ** 2 == pytest.approx(index, rel=0.05)
    assert pool.mean == pytest.approx(past.mean(), abs=1e-9)
    assert pool.deviation == pytest.approx(past.std(), rel=1e-6)
    assert (pool.lowest, pool.highest) == (past.min(), past.max())


def test_the_stability_index_of_counts_that_are_alike_is_small() -> None:
    chance, found = np.random.default_rng(1), []
    for _ in range(10):
        pool = PooledNumbers()
        for _ in range(40):
            counts = np.where(chance.random(3000) < 0.6, 0, chance.poisson(5, 3000))
            numbers = column_profile(pa.array(counts)).numbers
            assert numbers is not None
            found += [stability(numbers, pool)] if len(pool.moments) > 10 else []
            pool = pool.joined(numbers)
    assert max(found) ** 2 < 0.1  # no change, as the field reads the index


def test_surprise_is_the_cross_entropy_of_smoothed_counts() -> None:
    batch, past = DRAWN.integers(0, 9, 64), DRAWN.integers(0, 99, 64)
    smoothed = (past + 0.5) / (past + 0.5).sum()
    assert surprise(batch, past) == pytest.approx(-(batch / batch.sum() * np.log(smoothed)).sum())


def test_gaps_that_go_together_have_companions() -> None:
    storms = DRAWN.beta(1, 20, 60)
    complete = np.full((60, 4, len(STATISTICS)), np.nan)
    for at, gaps in enumerate((storms, storms + DRAWN.uniform(0, 0.001, 60), DRAWN.beta(1, 20, 60), np.zeros(60))):
        complete[:, at, PLACE["complete"]] = np.arcsin(np.sqrt(1 - gaps))
    assert companions(complete).tolist() == [1, 0, -1, -1]


def test_the_peers_tests_are_those_of_scipy() -> None:
    numbers = DRAWN.normal(size=900), DRAWN.normal(0.05, 1, 1800)
    texts = DRAWN.choice(list("abcd"), 500), DRAWN.choice(list("abcde"), 3000)
    first, second = (column_profile(pa.array(each)) for each in numbers)
    assert first.numbers is not None
    assert second.numbers is not None
    exact = ks_2samp(*numbers, method="asymp").pvalue
    assert kolmogorov_smirnov(first.numbers, second.numbers) == pytest.approx(exact, rel=0.2)
    first, second = (column_profile(pa.array(each)) for each in texts)
    table = [[(each == letter).sum() for letter in "abcde"] for each in texts]
    assert chi_square(first, second) == pytest.approx(chi2_contingency(table).pvalue)
