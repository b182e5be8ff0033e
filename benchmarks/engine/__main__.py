"""``python -m benchmarks.engine``: the engine against a query written by hand and its peers, on this machine.

For development: ``--sizes 10k,1M --only g,ours --repeats 3``. ``--full`` measures all and writes docs/benchmarks.md,
part by part: first what is Assay's own, then the peers and the four hundred checks, which take longer.
"""

import argparse
from collections.abc import Callable, Collection

from rich.console import Console

from .contenders import NAMES
from .figures import Part
from .machine import machine
from .parts import PARTS, SIZES, Asked
from .report import show, write_docs, write_json


def main() -> None:
    """Measures what was asked for and shows each race as soon as it is run."""
    asked = _arguments()
    console = Console()
    on = machine()
    console.print(on, soft_wrap=True)
    measured: list[Part] = []
    for name in list(PARTS) if asked.full else asked.parts:
        for heading, race in PARTS[name](Asked(sizes=asked.sizes, only=asked.only, repeats=asked.repeats)):
            measured.append(Part(name=name, heading=heading, race=race))
            show(console, measured[-1])
        console.print(f"samples: {write_json(on, measured)}", soft_wrap=True)
        if asked.full or asked.docs:
            part = [each for each in measured if each.name == name]
            console.print(f"written: {write_docs(on, part)}", soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--parts", type=_list_of(PARTS), default=["suite"], help=",".join(PARTS))
    parser.add_argument("--sizes", type=_list_of(SIZES), default=list(SIZES), help=",".join(SIZES))
    parser.add_argument(
        "--only", type=_list_of(NAMES), default=list(NAMES), help=f"of suite and peers: {','.join(NAMES)}"
    )
    parser.add_argument("--repeats", type=int, help="rounds after those that warm up (default: by part and size)")
    parser.add_argument("--docs", action="store_true", help="write each part into docs/benchmarks.md when it is done")
    parser.add_argument("--full", action="store_true", help="all parts, with --docs")
    return parser.parse_args()


def _list_of(known: Collection[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return names

    return read


if __name__ == "__main__":
    main()
