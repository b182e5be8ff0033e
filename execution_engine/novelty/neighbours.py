"""The paper's judge: the mean distance of a batch to its five nearest neighbours among the accepted ones."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NEIGHBOURS = 5
CONTAMINATION = 0.01  # the share of history that counts as far


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """The mean distance, the one that history exceeds in 1 of 100 cases, and how far each feature is off."""

    distance: float
    threshold: float
    apart: Floats  # (columns, features): from the mean of the nearest, in shares of history's range
    nearest: Floats  # (columns, features): that mean


def judged(history: Floats, features: Floats) -> Judged:
    """A batch (columns, features) given at least two accepted ones (…, columns, features)."""
    past, batch = without_gaps(history, features)
    scaled, point = on_history(past, batch)
    own = np.sqrt(np.maximum(((scaled[:, None, :] - scaled[None, :, :]) ** 2).sum(axis=2), 0.0))
    np.fill_diagonal(own, np.inf)
    count = min(NEIGHBOURS, len(scaled) - 1)
    distances = np.sort(own, axis=1)[:, :count].mean(axis=1)
    away = np.sqrt(((scaled - point) ** 2).sum(axis=1))
    order = np.argsort(away, kind="stable")[: min(NEIGHBOURS, len(scaled))]
    return Judged(
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
