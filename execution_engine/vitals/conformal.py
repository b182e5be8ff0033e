"""How far a new score may go, by those before it: a conformal quantile, with a tail where they are few (pure).

Of n + 1 scores whose order tells nothing, the newest exceeds that of rank ⌈0.99 (n + 1)⌉ with a chance of 1 % at most
(Vovk, Gammerman and Shafer, 2005). Fewer than 99 scores have no such rank: the largest is then stretched as the tail of
an exponential law would.
"""

from math import ceil, log

import numpy as np

from execution_engine.profiles.values import Floats

ODD = 3.0  # times as far from the median as the next largest: a score of a fault, which teaches nothing
FEWEST_PER_ODD = 30  # scores, for each that is left out as odd
FEWEST = 8  # scores, without which nothing is known
RECENT, USUAL_AGAIN = 5, 2  # of so many last scores the second largest is no news: the table has changed its ways


def upper_bound(scores: Floats, alarms: float) -> float:
    """What no more than the share ``alarms`` of new scores exceed; ``scores`` are in the order of time, 8 or more."""
    middle = float(np.median(scores))
    ranked = np.sort(scores)
    for _ in range(len(scores) // FEWEST_PER_ODD):
        if ranked[-1] - middle <= ODD * max(ranked[-2] - middle, 0.0):
            break
        ranked = ranked[:-1]
    count = len(ranked)
    rank = ceil((1 - alarms) * (count + 1))
    if rank <= count:
        bound = float(ranked[rank - 1])
    else:
        largest = float(ranked[-1])
        bound = largest + (largest - middle) * log(1 / (alarms * (count + 1))) / log(count / 2)
    return max(bound, float(np.sort(scores[-RECENT:])[-USUAL_AGAIN]))
