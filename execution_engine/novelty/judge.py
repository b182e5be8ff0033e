"""The judge: is a batch like those that were accepted before it?"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

import numpy as np
import numpy.typing as npt

from execution_engine.novelty.family.alarm import judged as by_drift
from execution_engine.novelty.inferred_schema.anomalies import judged as by_schema
from execution_engine.profiles.lints import SECRETS, lints_of
from execution_engine.profiles.profile import Profile

from .columns import changed_columns, with_new_values
from .measures.batch import MEASURED, OF_PAPER, WHOLE_BATCH, batch_of
from .measures.companions import put_beside
from .measures.features import FEATURES
from .measures.statistics import PLACE, STATISTICS, Shown
from .neighbours import judged
from .past import Past, combined, largest
from .scores import LARGEST_Z, beside_one, of_one, rare_beside_one, rare_of_one, threshold
from .terms import LEARNING, Method
from .verdict import Cause, Status, Verdict

Floats = npt.NDArray[np.float64]

MOST_CAUSES = 20


def judge(profile: Profile, past: Past, method: Method = Method.PREDICTIVE) -> Verdict:
    """What a batch is beside its accepted past."""
    if len(past.batches) < LEARNING:
        note = f"{len(past.batches)} of the {LEARNING} accepted batches that a verdict needs"
        return Verdict(status=Status.LEARNING, notes=(note,))
    return BY_METHOD[method](profile, past)


def _by_prediction(profile: Profile, past: Past) -> Verdict:
    batch = batch_of(profile, past.pools)
    new = {part: batch.aligned(part, past.names) for part in MEASURED}
    put_beside(new, past.companions)
    z = _z(past, new)
    bound = threshold(past.scores, int((~np.isnan(z)).sum()))
    rows = past.names.index(WHOLE_BATCH), PLACE["rows"]
    if not profile.rows and past.history.shown[:, *rows].all():
        return Verdict(status=Status.NOVEL, score=LARGEST_Z, threshold=bound, causes=(_cause(past, *rows, 0.0, inf),))
    causes, notes = changed_columns(profile, past)
    score = LARGEST_Z if causes else float(largest(z))
    if score <= bound:
        return Verdict(status=Status.LIKE, score=score, threshold=bound, notes=notes)
    sizes = np.nan_to_num(np.abs(z))
    order = np.argsort(-sizes, axis=None, kind="stable")[:MOST_CAUSES]
    moved = [divmod(int(place), len(STATISTICS)) for place in order if sizes.flat[place] > bound]
    causes += [_cause(past, at, place, float(new["shown"][at, place]), float(z[at, place])) for at, place in moved]
    causes = with_new_values(causes, profile, past)
    return Verdict(status=Status.NOVEL, score=score, threshold=bound, causes=tuple(causes), notes=notes)


def _z(past: Past, new: dict[str, Floats]) -> Floats:
    """The z of each statistic beside the past, or beside a batch that a person released, where this is nearer."""
    statistics, counts = (new["scaled"], new["floors"], new["least"]), (new["rare"], new["of"])
    z = combined(of_one(past.history, *statistics), rare_of_one(past.history, *counts))
    for place in past.released:
        near = combined(beside_one(past.history, place, *statistics), rare_beside_one(past.history, place, *counts))
        z = np.where(np.abs(near) < np.abs(z), near, z)
    return z


def _cause(past: Past, at: int, place: int, value: float, z: float) -> Cause:
    name, statistic = past.names[at], list(STATISTICS.values())[place]
    before = past.history.shown[:, at, place]
    before = before[~np.isnan(before)]
    low, high = np.quantile(before, [0.05, 0.95]).tolist()
    words = statistic.words
    if place == PLACE["beside"]:
        words += f" of {past.names[past.companions[at]]},"
    return Cause(
        column=name or None,
        statistic=words,
        shown=statistic.shown,
        value=value,
        expected=float(np.median(before)),
        low=low,
        high=high,
        z=z,
        before=tuple(past.history.shown[:, at, place].tolist()),
    )


def _by_neighbours(profile: Profile, past: Past) -> Verdict:
    names = sorted({name for batch in past.batches for name in batch.kinds})
    features = batch_of(profile, past.pools).aligned(OF_PAPER, names)
    history = np.array([batch.aligned(OF_PAPER, names) for batch in past.batches])
    found = judged(history, features)
    if found.distance <= found.threshold:
        return Verdict(status=Status.LIKE, score=found.distance, threshold=found.threshold)
    causes = []
    for place in np.argsort(-np.abs(found.apart), axis=None, kind="stable")[:MOST_CAUSES].tolist():
        at, feature = divmod(place, len(FEATURES))
        if found.apart.flat[place]:
            value, nearest = float(features[at, feature]), float(found.nearest[at, feature])
            cause = _far(names[at], feature, value, nearest, float(found.apart.flat[place]))
            causes.append(replace(cause, before=tuple(history[:, at, feature].tolist())))
    return Verdict(status=Status.NOVEL, score=found.distance, threshold=found.threshold, causes=tuple(causes))


def _far(name: str, feature: int, value: float, nearest: float, apart: float) -> Cause:
    statistic, shown = FEATURES[feature], Shown.SHARE if "share" in FEATURES[feature] else Shown.NUMBER
    return Cause(column=name, statistic=statistic, shown=shown, value=value, expected=nearest, z=apart)


def without_secrets(cause: Cause, profile: Profile) -> Cause:
    """What may be told of a cause: no value of a column whose values look like secrets."""
    column = profile.columns.get(cause.column or "")
    is_secret = column is not None and any(lint["name"] == SECRETS for lint in lints_of(column))
    return cause.without_values() if is_secret else cause


BY_METHOD: Mapping[Method, Callable[[Profile, Past], Verdict]] = {
    Method.PREDICTIVE: _by_prediction,
    Method.NEIGHBOURS: _by_neighbours,
    Method.SCHEMA: by_schema,
    Method.DRIFT: by_drift,
}
