"""What a scan may take, of time and of memory."""

import re
from dataclasses import dataclass

SMALL_BYTES = 32 * 1024 * 1024  # of files: Spark reads them in one task, as two stages cost more than they save
_SIZE = re.compile(r"([1-9]\d*)([mg])", re.IGNORECASE)
_BYTES = {"m": 1024**2, "g": 1024**3}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of every scan, and of the process that makes it."""

    deadline_seconds: float = 600
    memory: str = "2g"  # of Java's heap, and as much again for Python on top of what it starts with
    scans_per_child: int = 1000  # then a fresh one takes over, so that nothing that leaks grows for ever
    variables: tuple[str, ...] = ()  # of the environment, that the child may see beyond what Spark needs
    isolated: bool = True  # in a process that can be killed; false: in this one, for tests of the engine itself
    shows_log: bool = False  # whether what Spark and its Java print is let through to our standard error


def bytes_of(size: str) -> int:
    """``512m`` or ``2g`` in bytes; ValueError for anything else."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"{size!r} is no amount of memory; write 512m or 2g")
    return int(match[1]) * _BYTES[match[2].lower()]
