"""17, 18, 19: what users' SQL can do to Spark: kill it, hang it, fill its memory.

Staged: on the child that hosts Spark, with an engine that runs anything: a query that kills its process; a cross join,
a pattern that hangs Spark's planner, and Python that sleeps; queries that fill Java's memory. Asserted: each ends with
the right failure, within its deadline and a grace, its neighbour is unharmed, and the next query works. What ends its
child is tried once more in a child of its own; the start of that one is not the query's.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.protocol import WHOLE, Limits, Measured
from execution_engine.outcome import Reason
from tests.faults.experiment import Alone, Finding, Scale
from tests.integration.engines.raw_spark import HOSTED, NOWHERE, raw
from tests.integration.engines.test_child import CROSS_JOIN, FILLS_JAVA, PLANNING_HANGS

DEADLINE, GRACE = 10.0, 10.0  # seconds; within the grace it is cancelled, and killed if that does not help
TO_FILL = 60.0  # seconds: a busy machine must fill the memory before the deadline
POISONS = ("die", f"select {'(' * 3000}1{')' * 3000}")
HANGS = (CROSS_JOIN, PLANNING_HANGS, "worker 600")
START = 20.0  # seconds that a fresh child may take to start on a busy machine
SHOWN = 40  # characters of a query


def run(queries: Sequence[str], reasons: frozenset[Reason], deadline: float, grace: float, scale: Scale) -> Finding:
    """Run each query so many times, each time beside a sound one, and a sound one after it; seconds."""
    engine = ChildEngine(ChildOptions(limits=Limits(deadline_seconds=deadline, memory="1g"), hosted=HOSTED))
    wrong, took, recovery = list[str](), list[float](), list[float]()
    try:
        _measured(engine, "select 42")
        for query in [query for query in queries for _ in range(scale.of(5, quick=1))]:
            with ThreadPoolExecutor(1) as threads:
                neighbour = threads.submit(_measured, engine, "sleep 1")
                result, seconds = _timed(engine, query)
                wrong += _wrong(query, result, reasons, neighbour.result())
            took.append(seconds)
            after, seconds = _timed(engine, "select 42")
            recovery.append(seconds)
            if after.value != 42:
                wrong.append(f"after {query[:SHOWN]!r} the next query gave {after}")
    finally:
        engine.close()
    late = [f"{seconds:.1f} s" for seconds in took if seconds > deadline + grace]
    return Finding(violations={"right ends": wrong, "in time": late}, figures=_figures(took, recovery, deadline))


def _figures(took: Sequence[float], recovery: Sequence[float], deadline: float) -> list[tuple[str, str]]:
    return [
        ("queries", str(len(took))),
        ("s until one ended, worst", f"{max(took):.1f}, of which the deadline {deadline:.0f}"),
        ("s until the next good answer, worst", f"{max(recovery):.1f}"),
    ]


def _timed(engine: ChildEngine, query: str) -> tuple[Measured, float]:
    begun = time.monotonic()
    return _measured(engine, query), time.monotonic() - begun


def _measured(engine: ChildEngine, query: str) -> Measured:
    return engine.scan(NOWHERE, WHOLE, [raw(query)]).measured[query]


def _wrong(query: str, result: Measured, reasons: frozenset[Reason], neighbour: Measured) -> list[str]:
    found = []
    if result.failure is None or result.failure.reason not in reasons:
        found.append(f"{query[:SHOWN]!r} gave {result.failure or result.value}")
    if neighbour.failure is not None and not neighbour.failure.transient:
        found.append(f"beside {query[:SHOWN]!r} a sound query gave {neighbour.failure}")
    return found


POISON = Alone(
    number=17,
    title="queries that kill Spark",
    run=partial(
        run, POISONS, frozenset({Reason.CRASHED, Reason.QUERY_FAILED, Reason.INVALID}), DEADLINE, GRACE + START
    ),
    minutes=6,
)
HANG = Alone(
    number=18,
    title="queries that hang",
    run=partial(run, HANGS, frozenset({Reason.TIMEOUT}), DEADLINE, GRACE),
    minutes=8,
)
MEMORY = Alone(
    number=19,
    title="queries that fill the memory",
    run=partial(run, FILLS_JAVA, frozenset({Reason.OUT_OF_MEMORY, Reason.QUERY_FAILED}), TO_FILL, GRACE + START),
    minutes=8,
)
