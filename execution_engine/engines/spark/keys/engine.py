"""Keys in Spark: digests, filters and probes, each step of a comparison taken only where the one before differs."""

from collections.abc import Callable

from pyspark import cloudpickle

from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.bloom import BLOOM_FILTER, settled
from execution_engine.metrics.keys import bits
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.metrics.keys.escalation import ComparedKeys, compared
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.metrics.keys.filter_shape import UnableToShape
from execution_engine.metrics.keys.loss import Loss
from execution_engine.outcome import Reason

from . import workers
from .build_filter import Build, built
from .lost_keys import name_keys
from .probe import Probe, missed
from .pull import digest, row_count

# Workers need numpy and pyarrow, but not this package.
cloudpickle.register_pickle_by_value(bits)
cloudpickle.register_pickle_by_value(workers)


def take_digest(source: SparkSource, item: Wanted) -> Measured:
    """The digest of the distinct keys as state; the value is their number, exactly."""
    taken = digest(source, item)
    detail = {"rows": taken.rows, "keys": taken.keys, "fingerprint": taken.fingerprint}
    return Measured(value=float(taken.keys), state=taken.to_bytes(item.state_key), detail=detail)


def build_filter(source: SparkSource, item: Wanted) -> Measured:
    """A filter of the distinct keys as state; the value is their number."""
    return _refusing(_build, source, item)


def probe_filter(source: SparkSource, item: Wanted) -> Measured:
    """How many distinct keys are in the shipped filter; the detail counts and names those that are not."""
    return _refusing(_probe, source, item)


def _settled(sides: ComparedKeys) -> Measured:
    value, detail = settled(sides.own.keys)
    return Measured(value=value, detail=detail)


def _refusing(take: Callable[[SparkSource, Wanted], Measured], source: SparkSource, item: Wanted) -> Measured:
    try:
        return take(source, item)
    except KeyError as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no {error} to build on")
    except (UnableToReadKeys, UnableToShape, ValueError) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} of {source.name}: {error}")


def _build(source: SparkSource, item: Wanted) -> Measured:
    sides = compared(item.inputs, item.spec.columns, item.state_key)
    if sides is not None and sides.equal:
        return _settled(sides)
    if sides is None:
        build = Build(source=source, item=item, keys=row_count(source))
    else:
        build = Build(source=source, item=item, keys=sides.own_keys, counted=True, buckets=sides.differing)
    made = built(build)
    detail = {
        "format": made.shape.format.value,
        "capacity": made.shape.capacity,
        "error_rate": made.shape.error_rate,
        "columns": list(item.spec.columns),
        "counted": made.counted,
        "buckets": None if made.buckets is None else len(made.buckets.numbers),
    }
    keys = made.keys if sides is None else sides.own.keys
    return Measured(value=float(keys), state=made.to_bytes(item.state_key), detail=detail)


def _probe(source: SparkSource, item: Wanted) -> Measured:
    sides = compared(item.inputs, item.spec.columns, item.state_key)
    if sides is not None and sides.equal:
        return _settled(sides)
    shipped = KeyFilter.from_bytes(item.inputs[BLOOM_FILTER.name], item.state_key)
    _check_shipped(shipped, item, sides)
    found = missed(Probe(source=source, item=item, shipped=shipped, own_keys=sides.own_keys if sides else None))
    loss = Loss(keys=found.keys, missed=found.missed, error_rate=shipped.error_rate)
    elsewhere = sides.own.keys - sides.own_keys if sides else 0  # in buckets that are equal
    detail = {
        "missing": loss.missed,
        "lost": name_keys(source, item, found.lowest),
        "error_rate": loss.error_rate,
        "hidden": loss.hidden,
        "hidden_at_most": loss.hidden_at_most,
    }
    return Measured(value=float(elsewhere + loss.found), detail=detail)


def _check_shipped(shipped: KeyFilter, item: Wanted, sides: ComparedKeys | None) -> None:
    """A filter of other columns, or of fewer buckets than differ, would hide what is lost."""
    if shipped.columns != item.spec.columns:
        raise UnableToReadKeys(f"it was given a filter of {', '.join(shipped.columns)}")
    if shipped.buckets != (None if sides is None else sides.differing):
        raise UnableToReadKeys("the filter is not of the buckets in which the digests differ")
