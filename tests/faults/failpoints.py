"""Points in the sending of notices where a worker is killed: those whose file is there, once for each file."""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from signal import SIGKILL
from typing import Any

BEFORE_CLAIM, AFTER_CLAIM = "before the claim", "after the claim"
AFTER_ANSWER, AFTER_COMMIT = "after the answer", "after the commit"
POINTS = (BEFORE_CLAIM, AFTER_CLAIM, AFTER_ANSWER, AFTER_COMMIT)


def arm(home: Path, point: str) -> Path:
    """The next worker that comes to the point dies there; the file is gone then."""
    path = _file(home, point)
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return path


def install(home: Path) -> None:
    """Put the points into this process' copy of the notifier."""
    from alerting.services import send

    die, claims = _dier(home), vars(send)["claims"]

    def dying(*args: Any, **kwargs: Any) -> Iterator[Any]:
        die(BEFORE_CLAIM)
        for rows in claims(*args, **kwargs):
            die(AFTER_CLAIM)
            yield rows

    send.claims = dying  # type: ignore[attr-defined]
    send.deliver = _around(
        send.deliver, after=lambda error, message, _: _is_taken(error, message) and die(AFTER_ANSWER)
    )
    send._send = _around(send._send, after=lambda *_: die(AFTER_COMMIT))


def _is_taken(error: object, message: Any) -> bool:
    """Whether the receiver has answered with a success."""
    return error is None and message.channel == "webhook"


def _around(function: Callable[..., Any], *, after: Callable[..., Any]) -> Callable[..., Any]:
    """The function with something after it that gets its result and its arguments."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        after(result, *args)
        return result

    return wrapped


def _dier(home: Path) -> Callable[[str], None]:
    def die(point: str) -> None:
        try:
            _file(home, point).unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), SIGKILL)

    return die


def _file(home: Path, point: str) -> Path:
    return home / "failpoints" / point.replace(" ", "-")
