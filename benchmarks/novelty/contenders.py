"""Who judges: our two methods, and peers that are given the same profiles, each with all that was accepted before.

Of peers what they suggest by themselves is held against the next batch, as Redyuk et al. did: any breach is an alarm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.stats import chi2, kstwobign

from execution_engine.novelty.batch import OF_PAPER, matched
from execution_engine.novelty.days import Day, Method
from execution_engine.novelty.judge import judge, on_history, without_gaps
from execution_engine.novelty.past import Past
from execution_engine.profiles.profile import ColumnProfile, TableProfile, ValueKind
from execution_engine.profiles.values import Numbers

from . import pyod_knn

SIGNIFICANCE = 0.05
DOMAIN = 100  # different texts that a schema takes for a domain
CATEGORICAL = 0.1  # different values per row up to which a column is suggested to be categorical
MOST_CATEGORIES = 120
RETAINED = (0.2, 1.0)  # completeness between which a lower bound is suggested


@dataclass(frozen=True, kw_only=True, eq=False)
class Accepted:
    """What came before: as our judge keeps it, and as one profile of all rows; and the day of the batch at hand."""

    past: Past
    pooled: TableProfile
    day: Day | None = None


Contender = Callable[[TableProfile, Accepted], bool]  # is the batch novel?


def ours(batch: TableProfile, accepted: Accepted) -> bool:
    """The largest predictive z."""
    return judge(batch, accepted.past, day=accepted.day).is_novel


def nearest(batch: TableProfile, accepted: Accepted) -> bool:
    """The method of Redyuk et al."""
    return judge(batch, accepted.past, Method.NEIGHBOURS).is_novel


def pyod(batch: TableProfile, accepted: Accepted) -> bool:
    """The detector that Redyuk et al. used, from its own library, on the same statistics scaled alike."""
    names = sorted({name for each in accepted.past.batches for name in each.kinds})
    history = np.array([each.aligned(OF_PAPER, names) for each in accepted.past.batches])
    past, point = without_gaps(history, accepted.past.batch_of(batch).aligned(OF_PAPER, names))
    return pyod_knn.judge().is_outlier(*on_history(past, point))


def inferred_schema(batch: TableProfile, accepted: Accepted) -> bool:
    """Our schema, inferred where the past has settled."""
    return judge(batch, accepted.past, Method.SCHEMA).is_novel


def one_family(batch: TableProfile, accepted: Accepted) -> bool:
    """Drift: the largest standardised distance of any column."""
    return judge(batch, accepted.past, Method.DRIFT).is_novel


def two_samples(batch: TableProfile, accepted: Accepted) -> bool:
    """Kolmogorov-Smirnov of numbers, chi-square of all else, one test a column, corrected by Bonferroni."""
    columns = [(column, accepted.pooled.columns[name]) for name, column in batch.columns.items()]
    p_values = [_p_value(column, past) for column, past in columns if column.present and past.present]
    return bool(p_values) and min(p_values) < SIGNIFICANCE / len(p_values)


def _p_value(column: ColumnProfile, past: ColumnProfile) -> float:
    if column.numbers is not None and past.numbers is not None and column.numbers.finite and past.numbers.finite:
        return kolmogorov_smirnov(column.numbers, past.numbers)
    return chi_square(column, past) if column.kind is ValueKind.TEXT else 1.0


def kolmogorov_smirnov(batch: Numbers, past: Numbers) -> float:
    """The asymptotic p-value of two samples."""
    places = np.union1d(batch.points.numbers, past.points.numbers)
    apart = np.abs(batch.points.share_up_to(places) - past.points.share_up_to(places)).max()
    rows = batch.finite * past.finite / (batch.finite + past.finite)
    return float(kstwobign.sf(sqrt(rows) * apart))


def chi_square(batch: ColumnProfile, past: ColumnProfile) -> float:
    """Of the table of values by batch and past; values without a count are one value together."""
    before = matched(batch.values, past.values)
    own = np.append(batch.values.counts, [0, batch.values.cut]).astype(np.float64)
    others = np.append(before, [past.values.counts.sum() - before.sum(), past.values.cut]).astype(np.float64)
    table = np.array([own, others])[:, own + others > 0]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), max(table.shape[1] - 1, 1)))


def schema(batch: TableProfile, accepted: Accepted) -> bool:
    """TensorFlow Data Validation after Breck et al., 2019: types, presence where it was full, domains of texts."""
    return any(
        _breaks_schema(column, accepted.pooled.columns[name]) for name, column in batch.columns.items()
    ) or not set(accepted.pooled.columns) <= set(batch.columns)


def _breaks_schema(column: ColumnProfile, past: ColumnProfile) -> bool:
    if column.nulls and not past.nulls:
        return True
    if past.present and not column.present:
        return True
    has_domain = past.kind is ValueKind.TEXT and past.distinct <= DOMAIN
    return has_domain and column.kind is past.kind and bool((matched(column.values, past.values) == 0).any())


def suggestions(batch: TableProfile, accepted: Accepted) -> bool:
    """Deequ's default rules: complete, retained completeness, no negative numbers, values of a category, unique."""
    return any(_breaks_rules(column, accepted.pooled.columns[name]) for name, column in batch.columns.items())


def _breaks_rules(column: ColumnProfile, past: ColumnProfile) -> bool:
    if not column.rows or not past.rows:
        return False
    complete = past.present / past.rows
    if complete == 1 and column.nulls:
        return True
    bound = complete - 1.96 * sqrt(complete * (1 - complete) / past.rows)
    if RETAINED[0] < complete < RETAINED[1] and column.present / column.rows < bound:
        return True
    numbers, before = column.numbers, past.numbers
    if numbers and before and before.finite and before.low >= 0 and numbers.finite and numbers.low < 0:
        return True
    few = past.distinct <= min(CATEGORICAL * past.present, MOST_CATEGORIES)
    if past.kind is ValueKind.TEXT and few and bool((matched(column.values, past.values) == 0).any()):
        return True
    return bool(past.present and past.distinct >= past.present and column.distinct < column.present)


CONTENDERS: Mapping[str, Contender] = {
    "ours": ours,
    "nearest neighbours": nearest,
    "PyOD kNN": pyod,
    "statistical tests": two_samples,
    "schema": schema,
    "inferred schema": inferred_schema,
    "drift": one_family,
    "suggestions": suggestions,
}
