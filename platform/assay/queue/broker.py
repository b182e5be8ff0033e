"""The way messages take through Redis: kombu's, but for a fault of kombu after which a worker takes no work.

Why so: docs/decisions/0001-rows-as-queues.md.
"""

from collections.abc import Callable
from typing import Any

from celery.app.task import Task
from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default
from kombu.transport import TRANSPORT_ALIASES, redis, virtual

SCHEMES = ("redis", "rediss")


class QoS(redis.QoS):
    """What a worker holds and has not acknowledged: at most one message for each of its hands."""

    def ack(self, delivery_tag: str) -> None:
        """Give a message up, also where Redis cannot be told; raises what kombu raises.

        Celery logs that error and goes on. A message that is held still, by nobody, would keep one of the worker's
        hands for ever; with all of them kept it asks Redis for nothing, and never sees that it is back.
        """
        try:
            super().ack(delivery_tag)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)  # Redis, if it still knows of it, gives it out again in its time
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Give a message back or up, in the same way."""
        try:
            super().reject(delivery_tag, requeue=requeue)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


class SteadyChannel(redis.Channel):
    """A channel whose messages are settled so."""

    QoS = QoS


class Transport(redis.Transport):
    """The transport of such channels."""

    Channel = SteadyChannel


def install() -> None:
    """From now on URLs of Redis lead to this transport."""
    TRANSPORT_ALIASES.update(dict.fromkeys(SCHEMES, "assay.queue.broker:Transport"))


# What a worker makes of a message: a task of ours, or one that is refused.


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

    Strategy = "assay.queue.broker:sound"
