"""Columns whose gaps go together, as those of flights that never left: then a gap in one of them alone is news.

A share of missing values that is often large says little by itself; beside that of a companion it says much.
"""

import numpy as np
import numpy.typing as npt

from .statistics import PLACE

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WORTH = 0.5  # of the variance of a column's gaps that may be left beside its companion
_COMPLETE, _BESIDE = PLACE["complete"], PLACE["beside"]


def companions(scaled: Floats) -> Ints:
    """For each column the place of the one that leaves the least variance to its complete values; -1: none does.

    ``scaled``: (batches, columns, statistics).
    """
    complete = scaled[:, :, _COMPLETE]
    with np.errstate(all="ignore"):
        gappy = np.flatnonzero(np.fmax.reduce(complete) > np.fmin.reduce(complete))
        found = np.full(complete.shape[1], -1)
        for at in gappy.tolist():
            left = (complete[:, [at]] - complete[:, gappy]).var(axis=0)
            left = np.where((gappy == at) | np.isnan(left), np.inf, left)
            best = int(np.argmin(left))
            if left[best] < WORTH * np.nanvar(complete[:, at]):
                found[at] = gappy[best]
    return found


def put_beside(arrays: dict[str, Floats], of: Ints) -> None:
    """Writes what complete values are beside those of companions into arrays (…, columns, statistics)."""
    at = np.flatnonzero(of >= 0)
    for part in ("scaled", "shown"):
        own = arrays[part][..., _COMPLETE]
        arrays[part][..., at, _BESIDE] = own[..., at] - own[..., of[at]]
    floors = arrays["floors"][..., at, _COMPLETE]
    arrays["floors"][..., at, _BESIDE] = floors * np.sqrt(2)
    arrays["least"][..., at, _BESIDE] = floors * 2 / 3  # of one row where hardly any value is missing
