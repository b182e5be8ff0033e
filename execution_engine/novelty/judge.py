"""The judge: is a batch like those that were accepted before it?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from execution_engine.profiles.lints import has_secrets
from execution_engine.profiles.profile import TableProfile
from execution_engine.profiles.values import Floats, Ints

from .batch import FEATURES, MEASURED, OF_PAPER, put_beside
from .columns import changed_columns, moved_cause, with_new_values
from .days import LEARNING, SUNDAY, WEEKDAYS, Day, Method, RareDay
from .family import judged as by_drift
from .inferred_schema import judged as by_schema
from .past import Past
from .scores import (
    FEWEST,
    LARGEST_Z,
    Like,
    combined,
    families,
    largest,
    nearer,
    of_one,
    rare_of_one,
    thresholds,
    z_beside,
)
from .seasons import is_usual
from .statistics import PLACE, STATISTICS, WHOLE_BATCH, Notation
from .verdict import Cause, NoveltyStatus, NoveltyVerdict

# The paper's judge: the mean distance of a batch to its five nearest neighbours among the accepted ones.

NEIGHBOURS = 5
CONTAMINATION = 0.01  # the share of history that counts as far


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighbourDistances:
    """The mean distance, the one that history exceeds in 1 of 100 cases, and how far each feature is off."""

    distance: float
    threshold: float
    apart: Floats  # (columns, features): from the mean of the nearest, in shares of history's range
    nearest: Floats  # (columns, features): that mean


def judged(history: Floats, features: Floats) -> NeighbourDistances:
    """A batch (columns, features) given at least two accepted ones (…, columns, features)."""
    past, batch = without_gaps(history, features)
    scaled, point = on_history(past, batch)
    own = np.sqrt(np.maximum(((scaled[:, None, :] - scaled[None, :, :]) ** 2).sum(axis=2), 0.0))
    np.fill_diagonal(own, np.inf)
    count = min(NEIGHBOURS, len(scaled) - 1)
    distances = np.sort(own, axis=1)[:, :count].mean(axis=1)
    away = np.sqrt(((scaled - point) ** 2).sum(axis=1))
    order = np.argsort(away, kind="stable")[: min(NEIGHBOURS, len(scaled))]
    return NeighbourDistances(
        distance=float(away[order].mean()),
        threshold=float(np.quantile(distances, 1 - CONTAMINATION)),
        apart=(point - scaled[order].mean(axis=0)).reshape(features.shape),
        nearest=past[order].mean(axis=0).reshape(features.shape),
    )


def without_gaps(history: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Both as rows of numbers. A feature that a batch lacks has the mean of history, so that it adds nothing."""
    past, batch = history.reshape(len(history), -1), features.reshape(1, -1)
    with np.errstate(invalid="ignore"):
        means = np.nan_to_num(np.nansum(past, axis=0) / np.maximum((~np.isnan(past)).sum(axis=0), 1))
    return np.where(np.isnan(past), means, past), np.where(np.isnan(batch), means, batch)


def on_history(past: Floats, batch: Floats) -> tuple[Floats, Floats]:
    """The rows of the past, and that of the batch, scaled to [0, 1] on the past."""
    low, span = past.min(axis=0), np.ptp(past, axis=0)
    span = np.where(span > 0, span, 1.0)
    return (past - low) / span, ((batch - low) / span)[0]


MOST_CAUSES = 20
ON_SUNDAY = Day(weekday=SUNDAY)
COPIED = Cause(
    column=None,
    statistic="rows",
    notation=Notation.NUMBER,
    value="the same as in the window before",
    expected="new ones",
    z=inf,
)
LIKE_ALL, LIKE_ITS_WEEKDAY, LIKE_SUNDAYS, LIKE_RARE_DAYS = range(4)  # which batches one is compared with


def judge(
    profile: TableProfile, past: Past, method: Method = Method.PREDICTIVE, *, day: Day | None = None
) -> NoveltyVerdict:
    """What a batch is beside its accepted past; by predictions, beside its like where its ``day`` is known."""
    if len(past.batches) < LEARNING:
        note = f"{len(past.batches)} of the {LEARNING} accepted batches that a verdict needs"
        return NoveltyVerdict(status=NoveltyStatus.LEARNING, notes=(note,))
    if method is not Method.PREDICTIVE:
        return BY_METHOD[method](profile, past)
    batch = past.batch_of(profile)
    new = {part: batch.aligned(part, past.names) for part in MEASURED}
    put_beside(new, past.companions)
    z, with_what = _compared(past, new, day)
    bounds = past.patience * thresholds(past.scores, z)
    rows = past.names.index(WHOLE_BATCH), PLACE["rows"]
    if not profile.rows and past.history.shown[:, *rows].all():
        empty = _cause(past, *rows, 0.0, inf, _alike(past, day, LIKE_ALL))
        return NoveltyVerdict(status=NoveltyStatus.NOVEL, score=LARGEST_Z, threshold=float(bounds[0]), causes=(empty,))
    causes, notes = changed_columns(profile, past)
    stale = past.history.shown[:, rows[0], PLACE["stale"]]
    stale = stale[~np.isnan(stale)]
    is_copying = len(stale) < FEWEST or bool(stale.max() == 1)  # an accepted batch took all its rows from before
    if not is_copying and profile.rows and profile.sample.is_as(past.last_rows):
        causes.insert(0, COPIED)
    scores = largest(z)
    family = int((scores / bounds).argmax())
    score, bound = LARGEST_Z if causes else float(scores[family]), float(bounds[family])
    if score <= bound:
        return NoveltyVerdict.of(score, bound, notes=notes)
    sizes = np.nan_to_num(np.abs(z)) / bounds[families(len(z))]
    order = np.argsort(-sizes, axis=None, kind="stable")[:MOST_CAUSES]
    moved = [divmod(int(place), len(STATISTICS)) for place in order if sizes.flat[place] > 1]
    for at, place in moved:
        like = _alike(past, day, int(with_what[at, place]))
        causes.append(_cause(past, at, place, float(new["shown"][at, place]), float(z[at, place]), like))
    return NoveltyVerdict.of(score, bound, with_new_values(causes, profile, past), notes)


def _compared(past: Past, new: dict[str, Floats], day: Day | None) -> tuple[Floats, Ints]:
    """The z of each statistic, and the place in ``_alike`` of the batches that it was compared with.

    Beside the past, what weekdays add being taken off; or, where this is nearer, beside like rare days, for a holiday
    beside Sundays, or beside a batch that a person released, as it was measured.
    """
    rare = rare_of_one(past.history, new["rare"], new["of"])

    def z_beside_all(on: Day | None) -> Floats:
        scaled = new["scaled"] - past.seasons.of(on)
        return combined(of_one(past.history, scaled, new["floors"], new["least"]), rare)

    z = z_beside_all(day)
    with_what = np.where(past.seasons.is_seasonal(day), LIKE_ITS_WEEKDAY, LIKE_ALL)
    others: list[tuple[int, Floats]] = []
    if day is not None and day.rare is RareDay.HOLIDAY:
        others.append((LIKE_SUNDAYS, np.where(past.seasons.is_seasonal(ON_SUNDAY), z_beside_all(ON_SUNDAY), np.nan)))
    if day is not None and (like := past.rare_like(day)) is not None:
        others.append((LIKE_RARE_DAYS, like.z(past.history, new, past.off(day))))
    for place in past.released:  # as two draws differ, by the others' spread
        released = past.measured["scaled"][place]
        draws = (~np.isnan(released)).astype(np.float64)
        single = Like(mean=released, draws=draws, rare=past.history.rare[place], of=past.history.of[place])
        others.append((LIKE_ALL, z_beside(past.history, single, new, without=place)))
    for what, other in others:
        with_what = np.where(np.abs(other) < np.abs(z), what, with_what)
        z = nearer(z, other)
    return z, with_what


def _alike(past: Past, day: Day | None, what: int) -> tuple[Floats, str]:
    """What was shown of the batches that one of this day was compared with, and when these were, in words."""
    statistics = past.history.shown
    if day is None or what == LIKE_ALL:
        return statistics, ""
    if what == LIKE_RARE_DAYS and (like := past.rare_like(day)) is not None and day.rare is not None:
        return like.statistics.shown, day.rare.when
    weekday = SUNDAY if what == LIKE_SUNDAYS else day.weekday
    return statistics[[is_usual(batch.day, weekday) for batch in past.last]], f"on {WEEKDAYS[weekday]}"


def _cause(past: Past, at: int, place: int, value: float, z: float, like: tuple[Floats, str]) -> Cause:
    statistic, (like_values, when) = list(STATISTICS.values())[place], like
    words = statistic.words
    if place == PLACE["beside"]:
        words += f" of {past.names[past.companions[at]]},"
    before = past.history.shown[:, at, place]
    return moved_cause(
        past.names[at] or None, words, statistic.notation, value, like_values[:, at, place], z, before, when
    )


def _by_neighbours(profile: TableProfile, past: Past) -> NoveltyVerdict:
    names = sorted({name for batch in past.batches for name in batch.kinds})
    features = past.batch_of(profile).aligned(OF_PAPER, names)
    history = np.array([batch.aligned(OF_PAPER, names) for batch in past.batches])
    distances = judged(history, features)
    if distances.distance <= distances.threshold:
        return NoveltyVerdict.of(distances.distance, distances.threshold)
    causes = [
        Cause(
            column=names[at],
            statistic=FEATURES[feature],
            notation=Notation.SHARE if "share" in FEATURES[feature] else Notation.NUMBER,
            value=float(features[at, feature]),
            expected=float(distances.nearest[at, feature]),
            z=float(distances.apart[at, feature]),
            before=tuple(history[:, at, feature].tolist()),
        )
        for place in np.argsort(-np.abs(distances.apart), axis=None, kind="stable")[:MOST_CAUSES].tolist()
        for at, feature in [divmod(place, len(FEATURES))]
        if distances.apart[at, feature]
    ]
    return NoveltyVerdict.of(distances.distance, distances.threshold, causes)


def without_secrets(cause: Cause, profile: TableProfile) -> Cause:
    """What may be told of a cause: no value of a column whose values look like secrets."""
    column = profile.columns.get(cause.column or "")
    return cause.without_values() if column is not None and has_secrets(column) else cause


BY_METHOD: Mapping[Method, Callable[[TableProfile, Past], NoveltyVerdict]] = {
    Method.NEIGHBOURS: _by_neighbours,
    Method.SCHEMA: by_schema,
    Method.DRIFT: by_drift,
}
