"""Many tables of one source, read beside each other, with a bar on a terminal."""

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rich.console import Console
from rich.progress import track

AT_ONCE = 8
Item = TypeVar("Item")
Result = TypeVar("Result")


def read_each(read: Callable[[Item], Result], items: Iterable[Item], what: str) -> list[Result]:
    """What ``read`` gives for each item, in their order; what it raises for one ends the others."""
    waiting = list(items)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(read, waiting)
        shown = track(
            results,
            description=f"reading {what}",
            total=len(waiting),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        try:
            return list(shown)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
