"""Measurements that need no data, only the states of others."""

from execution_engine.metrics.sample import Sample, UnableToReadSample
from execution_engine.outcome import Reason

from .protocol import Measured, Wanted, failed


def measure_derived(item: Wanted) -> Measured:
    """``sample_size`` from its sample; ``freshness`` is for those who know windows and clocks."""
    if item.spec.name != "sample_size":
        return failed(Reason.INVALID, f"{item.spec.text} is derived from other measurements; ask for those")
    try:
        return Measured(value=float(len(Sample.from_bytes(item.inputs["sample"]).keys)))
    except (KeyError, UnableToReadSample) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no sample to count: {error}")
