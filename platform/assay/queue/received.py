"""What a worker makes of a message: a task of ours, or one that is refused."""

from collections.abc import Callable
from typing import Any

from celery.app.task import Task
from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default


def sound(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Celery's own way to take a message, but for bodies that are no task's: those would end the whole worker."""
    take = default(*args, **kwargs)

    def take_sound(message: Any, *rest: Any, **more: Any) -> Any:
        if not is_sound(message.payload):
            raise InvalidTaskError("a body that is no task's")  # at which the worker drops it and goes on
        return take(message, *rest, **more)

    return take_sound


def is_sound(payload: object) -> bool:
    """Whether a body is a list of positional arguments, keyword arguments and embedded tasks."""
    match payload:
        case [list(), dict(), dict() | None]:
            return True
    return False


class SoundTask(Task):  # type: ignore[type-arg]
    """The base of every task."""

    Strategy = "assay.queue.received:sound"
