"""Measurements that an engine takes of no data: computed from the states of others, or for those who know the keys."""

from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.definitions.sample import Sample, UnableToReadSample
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import Reason


def measure_derived(item: Wanted) -> Measured:
    """``sample_size`` from its sample; ``freshness`` and layouts are for those who know windows, clocks and keys."""
    if METRICS[item.spec.name].kind is Kind.LAYOUT:
        mend = "register the table in the catalog with its partition key, and test it there"
        return failed(Reason.INVALID, f"{item.spec.text} needs the format of the partitions' keys: {mend}")
    if item.spec.name != "sample_size":
        return failed(Reason.INVALID, f"{item.spec.text} is derived from other measurements; ask for those")
    try:
        return Measured(value=float(len(Sample.from_bytes(item.inputs["sample"]).keys)))
    except (KeyError, UnableToReadSample) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no sample to count: {error}")
