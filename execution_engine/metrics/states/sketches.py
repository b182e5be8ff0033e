"""Apache DataSketches as Spark writes them, merged and read without Spark.

They are imported where they are used: they import numpy, and many a command only names metrics.
"""

from collections.abc import Sequence

KLL_SIZE = 400  # 5 kB; the rank is within 0.7 % in 99 % of cases


def merged_hll(sketches: Sequence[bytes]) -> bytes:
    """The sketch of the union."""
    from . import hll

    return hll.merged([hll.from_bytes(sketch) for sketch in sketches]).to_bytes()


def distinct_of(sketch: bytes) -> float:
    """The estimated number of distinct values, the same whoever wrote the sketch."""
    from datasketches import hll_sketch

    from . import hll

    estimate: float = hll_sketch.deserialize(hll.canonical(sketch)).get_estimate()
    return float(round(estimate))


def merged_kll(sketches: Sequence[bytes]) -> bytes:
    """The sketch of the union."""
    from datasketches import kll_doubles_sketch

    merged = kll_doubles_sketch(KLL_SIZE)
    for sketch in sketches:
        merged.merge(kll_doubles_sketch.deserialize(sketch))
    written: bytes = merged.serialize()
    return written


def quantile_of(sketch: bytes, share: float) -> float | None:
    """The estimated quantile: a value of the data whose rank is near ``share``; None of a sketch of nothing."""
    from datasketches import kll_doubles_sketch

    read = kll_doubles_sketch.deserialize(sketch)
    return None if read.is_empty() else read.get_quantile(share, inclusive=True)
