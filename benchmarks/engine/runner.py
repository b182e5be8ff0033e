"""One process of one environment: prepares contenders, then runs them in turn; tells each event as a line of JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

from benchmarks.engine.contenders.protocol import Contender, Task

from .contenders import contender
from .meter import metered
from .suite import suite

BY_HAND = ("g", "g_400", "one_query_each", "small_by_hand", "history_by_hand")
Tell = Callable[[dict[str, Any]], None]


def main(order: dict[str, Any]) -> None:
    """Runs ``order``: the names of contenders, a spoilt and a sound table, and how many rounds over the sound one."""
    tell = _teller()
    tell({"event": "started", "pyspark": version("pyspark")})
    contenders = {name: contender(name) for name in in_order_of_sessions(order["names"])}
    for name, made in contenders.items() if order["spoilt"] else ():
        _prepare(tell, name, made, order["spoilt"])
        tell({"event": "found", "name": name, "failed": sorted(made.run().failed), "cannot": sorted(made.cannot)})
    for name, made in contenders.items():
        _prepare(tell, name, made, order["sound"])
    for number, names in enumerate(rounds(order["names"], order["rounds"])):
        for name in names:
            tell({"event": "running", "name": name, "round": number})
            tell({"event": "ran", "name": name, "round": number, **_run(contenders[name])})


def _prepare(tell: Tell, name: str, made: Contender, table: dict[str, Any]) -> None:
    tell({"event": "preparing", "name": name})
    made.prepare(Task(path=table["path"], checks=suite(table["rows"])))


def in_order_of_sessions(names: Sequence[str]) -> list[str]:
    """Ours first: its settings are those of the JVM, the session of those by hand is opened beside."""
    return sorted(names, key=lambda name: name in BY_HAND)


def rounds(names: Sequence[str], number: int) -> Iterator[list[str]]:
    """Each contender once a round, the base always first, the others in turning order."""
    first, others = names[:1], names[1:]
    for at in range(number):
        turn = at % len(others) if others else 0
        yield [*first, *others[turn:], *others[:turn]]


def _run(made: Contender) -> dict[str, Any]:
    answer, cost = metered(made.run)
    return {"wall": cost.wall, "cpu": cost.cpu, "checks": answer.checks, "failed": sorted(answer.failed)}


def _teller() -> Tell:
    """Writes to what was standard output; whatever libraries print goes to the log."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return lambda event: print(json.dumps(event), file=out, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
