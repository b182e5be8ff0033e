"""A watch over the Java of this process: when it ends, so does the process, once it has said how."""

import os
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from execution_engine.engines.protocol import ScanReport
from execution_engine.outcome import Reason

from .frames import Frame

SETTLE_SECONDS = 3.0  # between the end of Java's connections and that of Java


class JavaWatch:
    """Gives ``end`` the last words of the process: the exit status of Java, negative for a signal."""

    def __init__(self, end: Callable[[Frame], None]) -> None:
        self._end = end
        self._ended = Event()

    def start(self) -> None:
        """Once Java runs: it is the only child that this process has."""
        if hasattr(os, "waitid"):
            Thread(target=self._watch, name="watch over Java", daemon=True).start()

    def has_ended(self) -> bool:
        """Whether Java is gone; its connections end a moment before it does."""
        return self._ended.wait(SETTLE_SECONDS)

    def _watch(self) -> None:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return  # no Java of ours: Spark is elsewhere
        self._ended.set()
        if ended is not None:
            status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            self._end(Frame(header={"java": status}))


def is_unreached(result: Any) -> bool:
    """Whether a report says that Java could not be reached; it may be the first to notice its end."""
    reports = result if isinstance(result, tuple) else (result,)
    measured = [item for each in reports if isinstance(each, ScanReport) for item in each.measured.values()]
    return any(item.failure is not None and item.failure.reason is Reason.ENGINE_UNREACHABLE for item in measured)
