"""What is done about a call that does not end: wait for its deadline, cancel it, and in the end do without it."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from execution_engine.outcome import Failure, Reason

CANCEL_SECONDS = 5.0  # to stop by its own means


class TooLate(Exception):
    """The call went on although it was cancelled."""


@dataclass(frozen=True, kw_only=True)
class CallAnswer:
    """What a call gave; ``is_late``: it was cancelled at its deadline, and this is what it had by then."""

    result: Any
    is_late: bool = False


def wait_for(answer: Future[Any], deadline_seconds: float, cancel: Callable[[], None]) -> CallAnswer:
    """The call's answer or its exception; TooLate where it has none soon after it was cancelled at its deadline."""
    if is_done(answer, deadline_seconds):
        return CallAnswer(result=answer.result())
    cancel()
    if is_done(answer, CANCEL_SECONDS):
        return CallAnswer(result=answer.result(), is_late=True)
    raise TooLate


def is_done(future: Future[Any], seconds: float) -> bool:
    """Whether it is answered by then; its exception is for who asks for its result."""
    try:
        future.exception(seconds)
    except TimeoutError:
        return False
    return True


def too_late(deadline_seconds: float) -> Failure:
    """What a measurement is told that passed its deadline."""
    detail = (
        f"it was stopped at its deadline of {deadline_seconds:g} s; make it cheaper (a narrower where, fewer keys), "
        "or raise ASSAY_SCAN_DEADLINE_SECONDS"
    )
    return Failure(reason=Reason.TIMEOUT, detail=detail)
