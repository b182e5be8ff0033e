"""From an accepted past to the schema that all of its batches obey.

A rule is written only where the past has settled, as a rule that is written too early is what raises false alarms.
"""

import numpy as np
import numpy.typing as npt
from scipy.stats import betabinom

from execution_engine.novelty.measures.batch import WHOLE_BATCH
from execution_engine.novelty.measures.pool import Pool
from execution_engine.novelty.measures.statistics import PLACE, RARE
from execution_engine.novelty.past import Past
from execution_engine.novelty.terms import LEARNING
from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.hashing import Keys

from .schema import ColumnSchema, Schema

Floats = npt.NDArray[np.float64]

MOST_VALUES = 100  # of a domain, as TFDV has it
UNSEEN = 0.05  # values never seen that the next batch may be expected to bring, for the domain to have settled
SETTLED = 0.5  # of the batches, the last ones, that brought nothing new
SLACK = 0.5  # of the width of what was seen, beyond either end; of few batches more
FEW_NUMBERS, CONSTANT_FOR = 20, 30  # a range of fewer different numbers needs so many batches
FEWEST_ROWS = 50  # of the usual batch, for values that never repeat to be a rule
MISSED_IN = 1e-4  # of sound batches have more missing values than the presence allows


def infer(past: Past) -> Schema:
    """The schema of the last batches' columns; without a column until enough batches have it."""
    history, columns = past.history, {}
    for at, name in enumerate(past.names):
        known = ~np.isnan(history.shown[:, at, PLACE["complete"]])
        pool = past.pools.get(name)
        kind = pool.kind if pool is not None else _last_kind(past, name)
        if name == WHOLE_BATCH or kind is None or known.sum() < LEARNING:
            continue
        columns[name] = _of_column(past, at, kind, pool, int(known.sum()))
    return Schema(columns=columns, batches=len(past.batches))


def _of_column(past: Past, at: int, kind: ColumnKind, pool: Pool | None, batches: int) -> ColumnSchema:
    name, history = past.names[at], past.history
    last = past.batches[-len(history.shown) :]
    shown, rare, of = history.shown[:, at], history.rare[:, at], history.of[:, at]
    low, high = _range(pool, batches) if kind is ColumnKind.NUMBER and pool is not None else (None, None)
    distinct = len(pool.values.keys) if pool is not None else 0
    is_whole = kind is ColumnKind.NUMBER and distinct >= FEW_NUMBERS and not _any(rare[:, RARE.index("broken")])
    return ColumnSchema(
        kind=kind,
        batches=batches,
        is_required=all(name in batch.kinds for batch in last),
        presence=_presence(rare[:, RARE.index("complete")], of[:, RARE.index("complete")]),
        domain=_domain(past, pool, rare[:, RARE.index("values_new")], of) if kind is ColumnKind.TEXT else None,
        low=low,
        high=high,
        is_whole=is_whole,
        is_unique=(is_whole or kind is ColumnKind.TEXT) and _is_unique(shown[:, PLACE["distinct"]], of),
    )


def _last_kind(past: Past, name: str) -> ColumnKind | None:
    return next((batch.kinds[name] for batch in reversed(past.batches) if name in batch.kinds), None)


def _any(counts: Floats) -> bool:
    return bool(np.nansum(counts) > 0)


def _presence(missing: Floats, rows: Floats) -> float | None:
    """The lower bound of a beta-binomial whose spread is that of the past's shares; never above the least share seen.

    The prior of the share that is missing is Jeffreys': half a row.
    """
    known = rows > 0
    missing, rows = missing[known], rows[known]
    if not len(rows):
        return None
    total, share = rows.sum(), (missing.sum() + 0.5) / (rows.sum() + 1)
    chi = float(((missing - rows * share) ** 2 / (rows * share * (1 - share))).sum()) / max(len(rows) - 1, 1)
    usual, spread = float(np.median(rows)), max(1.0, chi)
    within = (usual - spread) / (spread - 1) if spread > 1 else np.inf  # the weight that gives a batch this spread
    weight = 1 / (1 / max(within, 0.5) + spread / total)
    most = float(betabinom.ppf(1 - MISSED_IN, round(usual), share * weight, (1 - share) * weight))
    return max(0.0, min(1 - most / max(round(usual), 1), float((1 - missing / rows).min())))


def _domain(past: Past, pool: Pool | None, new: Floats, of: Floats) -> Keys | None:
    """All values of the past, where no new ones are to be expected (Good and Turing), nor came lately."""
    if pool is None or pool.values.cut or not 0 < len(pool.values.keys) <= MOST_VALUES:
        return None
    brought = np.where(np.isnan(new), 0, new) > 0
    brought[past.released] = False  # a person said that they are right: no sign that more will come
    settled = len(brought) - int(np.flatnonzero(brought).max(initial=-1)) - 1
    usual = float(np.nanmedian(of[:, RARE.index("values_new")])) if not np.isnan(new).all() else np.inf
    unseen = usual * float((pool.values.counts == 1).sum()) / pool.values.rows
    if settled < max(LEARNING, SETTLED * len(brought)) - 1 or unseen > UNSEEN:
        return None
    return pool.values.keys


def _range(pool: Pool, batches: int) -> tuple[float | None, float | None]:
    """What was seen and a slack; exactly 0 where numbers come down to 0 and never below."""
    numbers = pool.numbers
    if not np.isfinite([numbers.lowest, numbers.highest]).all():
        return None, None
    if len(pool.values.keys) < FEW_NUMBERS and batches < CONSTANT_FOR:
        return None, None
    size = max(abs(numbers.lowest), abs(numbers.highest))
    width = numbers.highest - numbers.lowest or size
    slack = (SLACK + LEARNING / batches) * width
    low = 0.0 if numbers.lowest == 0 else numbers.lowest - slack
    high = 0.0 if numbers.highest == 0 and numbers.lowest < 0 else numbers.highest + slack
    return low, high


def _is_unique(distinct: Floats, of: Floats) -> bool:
    """No value occurs twice in any batch, though there are rows enough."""
    known = ~np.isnan(distinct)
    rows = of[known, RARE.index("complete")]
    return bool(known.sum() >= LEARNING and np.median(rows) >= FEWEST_ROWS and (distinct[known] == 1).all())
