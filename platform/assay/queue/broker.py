"""The way messages take through Redis: kombu's, but for a fault of kombu after which a worker takes no work.

Why so: docs/decisions/0001-rows-as-queues.md.
"""

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
