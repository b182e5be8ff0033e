"""Checks of the broker: whether it answers, and whether it keeps the hints that it is given."""

from collections.abc import Iterator, Mapping
from typing import Any

from kombu.exceptions import OperationalError
from redis import RedisError

from assay.celery import app
from assay.config import config

from .finding import Finding, ill, well


def broker() -> Finding:
    """Whether it answers."""
    if not config().broker_url:
        return well("broker", "none: the stages are drained in-process")
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            place = connection.as_uri()
    except (OperationalError, OSError) as error:
        return ill("broker", f"it cannot be reached: {error}", "start Redis, or correct ASSAY_BROKER_URL")
    return well("broker", place)


def redis() -> Finding:
    """Whether Redis evicts or forgets."""
    if not config().broker_url.startswith(("redis", "unix")):
        return well("redis", "not used")
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            return redis_finding(settings(connection.default_channel.client))  # type: ignore[attr-defined]
    except (OperationalError, OSError, RedisError) as error:
        return ill("redis", f"it does not tell its settings: {error}", "start it, or let its user run INFO")


def settings(client: Any) -> dict[str, Any]:
    """What a Redis says of itself; ``save`` is missing where a managed one does not tell it."""
    found: dict[str, Any] = {**client.info("memory"), **client.info("persistence")}
    try:
        return {**found, **client.config_get("save")}
    except RedisError:
        return found


def redis_finding(found: Mapping[str, Any]) -> Finding:
    """What the settings of a Redis mean."""
    wrong = list(wrong_settings(found))
    if wrong:
        return ill("redis", "; ".join(what for what, _ in wrong), "; ".join(mend for _, mend in wrong))
    return well("redis", "it evicts nothing, and outlives a restart")


def wrong_settings(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong, each with how to mend it. No row is ever lost with Redis; what is lost is time."""
    if (policy := found.get("maxmemory_policy")) != "noeviction":
        yield f"its policy {policy} throws hints away when memory is full", "set maxmemory-policy noeviction"
    if not found.get("aof_enabled") and found.get("save") == "":
        yield "it keeps nothing on disk: a restart loses hints until the next sweep", "set appendonly yes"
