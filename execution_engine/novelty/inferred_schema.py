"""A schema inferred from accepted batches, and the anomalies of a batch beside it.

After Breck et al., Data Validation for Machine Learning (SysML 2019), and Caveness et al., TensorFlow Data Validation
(SIGMOD 2020). Each accepted batch widens the schema; nothing else does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from scipy.stats import betabinom

from execution_engine.profiles.lints import are_secret
from execution_engine.profiles.profile import ColumnProfile, TableProfile, ValueKind
from execution_engine.profiles.values import Floats, Keys

from .batch import Pool, above, below
from .columns import changed_columns
from .days import LEARNING
from .past import Past
from .statistics import PLACE, RARE, WHOLE_BATCH, Notation
from .verdict import Cause, NoveltyVerdict

# What accepted batches say of each column: kind, presence, domain, range, whole numbers, unique values.

MOST_NAMED = 20  # values of a domain


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnSchema:
    """One column. What is None, or False, the past says nothing of.

    ``batches``: how many accepted ones had the column in its present kind. ``presence`` is the least share of rows that
    have a value in a batch as large as the usual one.
    """

    kind: ValueKind
    batches: int
    is_required: bool = False  # every accepted batch has the column
    presence: float | None = None
    domain: Keys | None = None  # of all values that it may have
    low: float | None = None
    high: float | None = None
    is_whole: bool = False  # its numbers have no fraction
    is_unique: bool = False  # no value occurs twice in one batch

    def as_json(self, column: ColumnProfile | None) -> dict[str, Any]:
        """The column of a batch names the most frequent values of the domain, as the past keeps their keys alone."""
        values: list[str] = []
        if column is not None and self.domain is not None and column.kind is self.kind:
            inside = np.isin(column.values.keys, self.domain)
            values = [str(label) for label in column.values.labels_of(inside, len(inside))]
            values = [] if are_secret(values) else values[:MOST_NAMED]
        return {
            "type": "whole number" if self.is_whole else self.kind.value,
            "batches": self.batches,
            "required": self.is_required,
            "presence": self.presence,
            "domain": None if self.domain is None else {"size": len(self.domain), "values": values},
            "low": self.low,
            "high": self.high,
            "unique": self.is_unique,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Schema:
    """The columns by name, and how many accepted batches they were inferred from."""

    columns: Mapping[str, ColumnSchema] = field(default_factory=dict)
    batches: int = 0

    def as_json(self, batch: TableProfile) -> dict[str, Any]:
        """As JSON; the values of domains are those that a batch has."""
        columns = {name: column.as_json(batch.columns.get(name)) for name, column in self.columns.items()}
        return {"batches": self.batches, "columns": columns}


# From an accepted past to the schema that all of its batches obey.
#
# A rule is written only where the past has settled, as a rule that is written too early is what raises false alarms.

MOST_VALUES = 100  # of a domain, as TFDV has it
UNSEEN = 0.05  # values never seen that the next batch may be expected to bring, for the domain to have settled
SETTLED = 0.5  # of the batches, the last ones, that brought nothing new
SLACK = 0.5  # of the width of what was seen, beyond either end; of few batches more
FEW_NUMBERS, CONSTANT_FOR = 20, 30  # a range of fewer different numbers needs so many batches
FEWEST_ROWS = 50  # of the usual batch, for values that never repeat to be a rule
MISSED_IN = 1e-4  # of sound batches have more missing values than the presence allows


def infer(past: Past) -> Schema:
    """The schema of the last batches' columns; without a column until enough batches have it."""
    columns, history = {}, past.history
    for at, name in enumerate(past.names):
        batches = int((~np.isnan(history.shown[:, at, PLACE["complete"]])).sum())
        pool = past.pools.get(name)
        past_kinds = (batch.kinds[name] for batch in reversed(past.batches) if name in batch.kinds)
        kind = pool.kind if pool is not None else next(past_kinds, None)
        if name == WHOLE_BATCH or kind is None or batches < LEARNING:
            continue
        statistics, of = history.shown[:, at], history.of[:, at]
        rare = dict(zip(RARE, history.rare[:, at].T, strict=True))
        varies = pool is not None and len(pool.values.keys) >= FEW_NUMBERS
        low, high = None, None
        if kind is ValueKind.NUMBER and pool is not None and (varies or batches >= CONSTANT_FOR):
            least, most = pool.numbers.lowest, pool.numbers.highest
            if np.isfinite([least, most]).all():  # what was seen and a slack
                slack = (SLACK + LEARNING / batches) * (most - least or max(abs(least), abs(most)))
                # exactly 0 where numbers come down to 0 and never below
                low = 0.0 if least == 0 else least - slack
                high = 0.0 if most == 0 and least < 0 else most + slack
        distinct = statistics[:, PLACE["distinct"]]
        rows = of[~np.isnan(distinct), RARE.index("complete")]  # enough, and no value occurs twice in any batch
        is_unique = (
            len(rows) >= LEARNING and np.median(rows) >= FEWEST_ROWS and (distinct[~np.isnan(distinct)] == 1).all()
        )
        is_whole = kind is ValueKind.NUMBER and varies and not np.nansum(rare["broken"]) > 0
        columns[name] = ColumnSchema(
            kind=kind,
            batches=batches,
            is_required=all(name in batch.kinds for batch in past.last),
            presence=_presence(rare["complete"], of[:, RARE.index("complete")]),
            domain=_domain(past, pool, rare["values_new"], of) if kind is ValueKind.TEXT else None,
            low=low,
            high=high,
            is_whole=is_whole,
            is_unique=(is_whole or kind is ValueKind.TEXT) and bool(is_unique),
        )
    return Schema(columns=columns, batches=len(past.batches))


def _presence(missing: Floats, rows: Floats) -> float | None:
    """The lower bound of a beta-binomial whose spread is that of the past's shares; never above the least share seen.

    The prior of the share that is missing is Jeffreys': half a row.
    """
    has_rows = rows > 0
    missing, rows = missing[has_rows], rows[has_rows]
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


# Where a batch breaks the schema that was inferred from those before it.

MOST_NEW = 10  # values outside a domain that an anomaly names


def judged(profile: TableProfile, past: Past) -> NoveltyVerdict:
    """The verdict by the schema: its score is the number of anomalies, and any is too many."""
    causes, notes = changed_columns(profile, past)
    columns = infer(past).columns
    for name, column in profile.columns.items():
        if name in columns and column.rows:
            causes += _column_anomalies(name, column, columns[name], past)
    return NoveltyVerdict.of(float(len(causes)), 0.0, causes, notes)


def _column_anomalies(name: str, column: ColumnProfile, schema: ColumnSchema, past: Past) -> Iterator[Cause]:
    """The anomalies of one column; of values of another kind no more is said, as this is an anomaly of its own."""
    at, history, values, numbers = past.names.index(name), past.history, column.values, column.numbers
    share = column.present / column.rows
    # of a batch that is smaller than the usual one, one missing value alone is no news
    is_small = column.rows < float(np.nanmedian(history.of[:, at, RARE.index("complete")]))
    if schema.presence is not None and share < schema.presence - (1.5 / column.rows if is_small else 1e-9):
        yield Cause(
            column=name, statistic="share of complete values", notation=Notation.SHARE, value=share, expected=None,
            low=schema.presence, high=1.0, z=inf, before=tuple(history.shown[:, at, PLACE["complete"]].tolist()),
        )  # fmt: skip
    if column.kind is not schema.kind:
        return

    def counted(words: str, count: float, rare: str = "", new: tuple[object, ...] = ()) -> Cause:
        before = tuple(history.rare[:, at, RARE.index(rare)].tolist()) if rare else ()
        return Cause(
            column=name, statistic=words, notation=Notation.COUNT, value=count, expected=0.0, z=inf, new_values=new,
            before=before,
        )  # fmt: skip

    if schema.domain is not None:
        new, domain_size = ~np.isin(values.keys, schema.domain), len(schema.domain)
        if count := int(values.counts[new].sum()) + values.cut:
            labels = values.labels_of(new, MOST_NEW)
            words = (
                f"rows outside the {domain_size} known values"
                if domain_size > 1
                else "rows without the one known value"
            )
            yield counted(words, count, "values_new", () if are_secret(labels) else labels)
    if schema.is_unique and (count := round(column.present - column.distinct)) > 0:
        yield counted("rows that repeat a value", count)
    if numbers is None or not numbers.finite:
        return
    if schema.low is not None and (count := round(below(numbers, schema.low))):
        yield counted(f"rows below {schema.low:,.6g}", count, "below")
    if schema.high is not None and (count := round(above(numbers, schema.high))):
        yield counted(f"rows above {schema.high:,.6g}", count, "above")
    if schema.is_whole and (count := numbers.finite - numbers.wholes):
        yield counted("numbers with a fraction", count, "broken")
