"""Points in a worker's work at which a fault comes over it, where its file is there, once for each file.

The files are in the home of the experiment; each holds which fault it is.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from signal import SIGKILL, SIGSTOP
from typing import Any

BEFORE_CLAIM, AFTER_CLAIM = "before the claim", "after the claim"
AFTER_ANSWER, AFTER_COMMIT = "after the answer", "after the commit"
POINTS = (BEFORE_CLAIM, AFTER_CLAIM, AFTER_ANSWER, AFTER_COMMIT)


class Fault(StrEnum):
    """What comes over the worker."""

    DIES = "dies"  # the process that works, alone
    ALL_DIE = "all die"  # with its parent and all other processes of the worker
    STANDS_STILL = "stands still"  # with all others, until SIGCONT


def in_work(stage: str) -> str:
    """The point at which a worker has claimed rows of a stage and begins on them."""
    return f"in the work of {stage}"


def arm(home: Path, point: str, fault: Fault = Fault.DIES) -> Path:
    """The next worker that comes to the point has the fault; the file is gone then."""
    path = _file(home, point)
    path.parent.mkdir(exist_ok=True)
    path.write_text(fault.value)
    return path


def come_by(home: Path, point: str) -> None:
    """A worker is at a point."""
    path = _file(home, point)
    try:
        fault = Fault(path.read_text())
        path.unlink()
    except FileNotFoundError:
        return
    match fault:
        case Fault.DIES:
            os.kill(os.getpid(), SIGKILL)
        case Fault.ALL_DIE:
            os.killpg(os.getpgrp(), SIGKILL)
        case Fault.STANDS_STILL:
            os.killpg(os.getpgrp(), SIGSTOP)


def install(home: Path) -> None:
    """Put the points into this process' copies of the queue and of the notifier."""
    _into_the_queue(home)
    _into_the_notifier(home)


def holding(home: Path, worker: str) -> Path:
    """While this file is there, the worker keeps each message that it gets and does not begin on it."""
    return home / "holding" / worker


def hands_full(home: Path, worker: str) -> int:
    """How many messages the worker has kept, since it was last told to."""
    return len(list((home / "holding").glob(f"{worker}.hand.*")))


def hold(home: Path, worker: str) -> None:
    """A worker that has just got a message keeps it as long as it is told to."""
    path = holding(home, worker)
    hand = path.with_name(f"{path.name}.hand.{os.getpid()}.{threading.get_ident()}")
    while path.exists():
        hand.touch()
        time.sleep(0.02)
    hand.unlink(missing_ok=True)


def _into_the_queue(home: Path) -> None:
    from assay.queue import claims as queue

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapped(name: str, *args: Any, **kwargs: Any) -> Any:
            come_by(home, in_work(name))
            return function(name, *args, **kwargs)

        return wrapped

    queue.in_one_transaction = before(queue.in_one_transaction)
    queue.attempt = before(queue.attempt)


def _into_the_notifier(home: Path) -> None:
    from alerting.notices import send

    claims = vars(send)["claims"]

    def dying(*args: Any, **kwargs: Any) -> Iterator[Any]:
        come_by(home, BEFORE_CLAIM)
        for rows in claims(*args, **kwargs):
            come_by(home, AFTER_CLAIM)
            yield rows

    def answered(error: object, notices: Sequence[Any]) -> None:
        is_taken = error is None and notices[0].channel == "webhook"  # the receiver has answered with a success
        if is_taken and len(notices) > 1:  # of one notice alone nothing can be parted
            come_by(home, AFTER_ANSWER)

    send.claims = dying  # type: ignore[attr-defined]
    send.deliver = _around(send.deliver, after=answered)
    send._send = _around(send._send, after=lambda *_: come_by(home, AFTER_COMMIT))


def _around(function: Callable[..., Any], *, after: Callable[..., Any]) -> Callable[..., Any]:
    """The function with something after it that gets its result and its arguments."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        after(result, *args)
        return result

    return wrapped


def _file(home: Path, point: str) -> Path:
    return home / "failpoints" / point.replace(" ", "-")
