"""Clients of the API that ask one question after the other, each in a process of its own."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection
from multiprocessing import get_context
from time import perf_counter
from typing import Any

SHOWN = 300  # characters of an answer that is no good


class UnableToAsk(Exception):
    """The server answered with an error, or with nothing."""


_ready: Any = None  # of a client's process: where it waits until all are there


def come(ready: Any) -> None:
    """A client's process begins."""
    global _ready
    _ready = ready


def ask(port: int, headers: Mapping[str, str], paths: Sequence[str]) -> list[float]:
    """How long each answer took, in seconds, from the request to the last byte."""
    _ready.wait()  # or the first would be served beside others that start
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    took = []
    for path in paths:
        started = perf_counter()
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        body = answer.read()
        took.append(perf_counter() - started)
        if answer.status != 200:
            raise UnableToAsk(f"{path}: {answer.status} {body[:SHOWN]!r}")
    return took


def ask_at_once(port: int, headers: Mapping[str, str], paths: Sequence[Sequence[str]]) -> list[float]:
    """What all clients waited, each asking its own paths; sorted."""
    context = get_context("spawn")
    ready = context.Barrier(len(paths))
    with ProcessPoolExecutor(len(paths), mp_context=context, initializer=come, initargs=(ready,)) as pool:
        found = pool.map(ask, [port] * len(paths), [headers] * len(paths), paths)
        return sorted(second for each in found for second in each)


def percentile(seconds: Sequence[float], share: float) -> float:
    """The smallest of sorted values that at least ``share`` of them do not exceed, in milliseconds."""
    at = max(0, -(-int(len(seconds) * share * 1000) // 1000) - 1)
    return 1000 * seconds[min(at, len(seconds) - 1)]
