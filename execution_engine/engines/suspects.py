"""Which measurements once had their scan killed, so that a bad one does not take its neighbours along for ever.

A scan shares its passes, and with them its end: one condition that hangs costs every test of the table its result. So
what was in a killed scan is measured apart from the rest next time: what is ours in one pass, and each piece of users'
SQL by itself, the worst last. What gives a value is suspected no more.
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason

from .protocol import ScanReport, Wanted

DEADLY = frozenset({Reason.TIMEOUT, Reason.OUT_OF_MEMORY})
MOST = 10_000  # the oldest are forgotten
Group = tuple[Wanted, ...]


class Suspects:
    """Of one engine; kept in memory, as a fresh process may well find them innocent."""

    def __init__(self) -> None:
        self._times: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = Lock()

    def groups(self, table: str, wanted: Sequence[Wanted]) -> tuple[Group, ...]:
        """What to scan together, in order."""
        times = {item.key: self._times.get((table, item.spec.text), 0) for item in wanted}
        clear = tuple(item for item in wanted if not times[item.key])
        ours = tuple(item for item in wanted if times[item.key] and not has_user_sql(item.spec))
        theirs = [item for item in wanted if times[item.key] and has_user_sql(item.spec)]
        alone = [(item,) for item in sorted(theirs, key=lambda item: times[item.key])]
        return tuple(group for group in (clear, ours, *alone) if group)

    def are_clear(self, table: str, wanted: Sequence[Wanted]) -> bool:
        """Whether none of them is suspected."""
        return not any((table, item.spec.text) in self._times for item in wanted)

    def note(self, table: str, group: Group, report: ScanReport) -> None:
        """Learn from a scan what it could not survive, and what it could."""
        with self._lock:
            for item in group:
                name, measured = (table, item.spec.text), report.measured.get(item.key)
                if measured is not None and measured.failure is None:
                    self._times.pop(name, None)
                elif measured is not None and measured.failure is not None and measured.failure.reason in DEADLY:
                    self._times[name] = self._times.pop(name, 0) + 1
            while len(self._times) > MOST:
                self._times.popitem(last=False)


def has_user_sql(spec: MetricSpec) -> bool:
    """Whether somebody wrote a part of what Spark is to run."""
    return spec.where is not None or any(isinstance(argument, str) for argument in spec.arguments)
