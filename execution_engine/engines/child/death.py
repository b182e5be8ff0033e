"""Why a Spark child ended, and what that says of the scans that it was busy with."""

from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGKILL, SIGTERM

from execution_engine.outcome import Failure, Reason

JAVA_OUT_OF_MEMORY = 3  # the exit status of a Java told to exit when its memory is used up
VMSTAT = Path("/proc/vmstat")


class UnableToAnswer(Exception):
    """A child gave no answer; the failure says why. ``alone``: no other call was in the child."""

    def __init__(self, failure: Failure, *, alone: bool = True) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.alone = alone


@dataclass(frozen=True, kw_only=True)
class Death:
    """How a child ended; statuses as ``subprocess`` has them, negative for a signal, None where not known."""

    java: int | None = None
    python: int | None = None
    kernel_kills: int = 0  # processes that the kernel killed meanwhile for want of memory
    ordered: str = ""  # why we killed it, if we did
    overflowed: bool = False  # its Python processes held too much
    was_ready: bool = True  # before that it ran nobody's query


def failure_of_death(death: Death, memory: str) -> Failure:
    """What a scan that was in the child, or waited for it to start, is told; the latter is never to blame."""
    failure = _failure(death, memory)
    return failure if death.was_ready else replace(failure, reason=Reason.ENGINE_UNREACHABLE)


def _failure(death: Death, memory: str) -> Failure:
    if death.overflowed:
        detail = (
            f"Spark's Python held more than {memory}; make the query or the key smaller, or raise ASSAY_SPARK_MEMORY"
        )
        return Failure(reason=Reason.OUT_OF_MEMORY, detail=detail)
    if death.ordered:
        return Failure(
            reason=Reason.ENGINE_UNREACHABLE, detail=f"Spark was restarted: {death.ordered}; this is tried again"
        )
    if death.java == JAVA_OUT_OF_MEMORY:
        detail = f"Spark used up its memory of {memory}; make the query or the key smaller, or raise ASSAY_SPARK_MEMORY"
        return Failure(reason=Reason.OUT_OF_MEMORY, detail=detail)
    if -SIGKILL in (death.java, death.python) and death.kernel_kills:
        detail = (
            f"the kernel killed Spark as the machine ran out of memory; lower ASSAY_SPARK_MEMORY (now {memory}), "
            "run fewer workers here, or make the query smaller"
        )
        return Failure(reason=Reason.OUT_OF_MEMORY, detail=detail)
    if SIGTERM in (-(death.java or 0), -(death.python or 0)):
        return Failure(reason=Reason.ENGINE_UNREACHABLE, detail=f"{_told(death)}; Spark is restarted by the next scan")
    return Failure(reason=Reason.CRASHED, detail=f"{_told(death)}; Spark is restarted by the next scan")


def kernel_kills() -> int:
    """How many processes this machine's kernel has killed for want of memory since it started; 0 where it tells not."""
    try:
        lines = dict(line.split() for line in VMSTAT.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(lines.get("oom_kill", 0))


def _told(death: Death) -> str:
    who, status = ("Spark's Java", death.java) if death.java is not None else ("the Spark child", death.python)
    if status is None:
        return f"{who} went away"
    return f"{who} was killed by signal {-status}" if status < 0 else f"{who} ended with status {status}"
