"""States of two halves of a table, one by the kernels and one by Spark: merged, they are what Spark says of all."""

import random
from pathlib import Path
from shutil import copy2
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from execution_engine.engines.gathering import from_state, plan
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.states import from_bytes, merged
from tests.integration.engines.alike import alike

from .scans import Scans, gathered_here, in_folder, magnitudes_of, measured_natively, opened, requests_of
from .suites import suite
from .tables import write_drawn


def halved(session: SparkSession, seed: int, count: int) -> Scans:
    """The metrics of ``count`` suites of the table that ``seed`` draws, if it has files for two halves of one shape."""
    draw, found = random.Random(seed), Scans()
    with TemporaryDirectory() as folder:
        whole, halves = Path(folder) / "whole", [Path(folder) / "first", Path(folder) / "second"]
        for each in (whole, *halves):
            each.mkdir()
        drawn = write_drawn(draw, whole, draw)
        paths = sorted(whole.iterdir())
        cut = draw.randint(1, max(1, len(paths) - 1))
        for at, path in enumerate(paths):
            copy2(path, halves[at >= cut])
        if len(paths) == 1:
            return found
        it = opened(session, in_folder(whole))
        first, second = (opened(session, in_folder(half)) for half in draw.sample(halves, 2))
        if not it.source.columns == first.source.columns == second.source.columns:
            return found
        specs = {spec.text: spec for _ in range(count) for spec in suite(draw, drawn)}
        wanted = [
            item for item in it.sound(requests_of(list(specs.values()))) if METRICS[item.spec.name].merges(item.spec)
        ]
        planned = plan(wanted, it.source.write)
        ours = measured_natively(wanted, planned, gathered_here(first.source, planned, apart=draw.random() < 0.5))
        both = [item for item in wanted if item.key in ours]
        theirs, expected, magnitudes = second.by_spark(both), it.by_spark(both), magnitudes_of(it.source, both)
        for item in both:
            together = _together(it.source, item, ours[item.key], theirs[item.key])
            found.ends["values of two halves"] += 1
            if not alike(item.spec, together, expected[item.key], magnitudes.get(item.key, {})):
                found.differing.append(
                    f"seed {seed}: {item.spec.text} of halves: {together} together, {expected[item.key]} by Spark"
                )
    return found


def _together(source: SparkSource, item: MeasurementRequest, *halves: Measured) -> Measured:
    """What the states of both come to; the failure of one that has none."""
    if without := [half for half in halves if half.state is None]:
        return without[0]
    gathered = METRICS[item.spec.name].statistics
    statistics = dict(gathered(item.spec, source.write)) if gathered else None
    states = [from_bytes(item.spec, half.state) for half in halves if half.state is not None]
    return from_state(item.spec, merged(statistics, states), keep_state=True)
