"""``make mutants``: a seeded sample of small faults, put into the code one at a time; do the tests notice?"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2s
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from rich.progress import track

from tests.mutants.mutation import Mutant, mutants
from tests.mutants.targets import ROOT, Target, targets
from tests.mutants.trial import Covering, Fate, covering, judge, migrate, record

AT_ONCE = 2
KINDS = {"both": (True, False), "pure": (True,), "services": (False,)}
WANTED = {True: 0.95, False: 0.85}  # the share that is noticed: of pure modules, of services


def main() -> None:
    """Judge a sample, or what is left of it; exits with 1 where fewer are noticed than wanted."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="so many mutants; of both kinds, half of each")
    parser.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    parser.add_argument("--only", default="", help="modules whose name begins so")
    parser.add_argument("--kind", choices=KINDS, default="both", help="of which modules (default: both)")
    parser.add_argument("--kept", type=Path, default=ROOT / ".mutants", help="where answers are kept, to go on from")
    given = parser.parse_args()
    given.kept.mkdir(exist_ok=True)
    chosen = sample(given.count, given.seed, given.only, KINDS[given.kind])
    answers = list(answered(chosen, given.kept))
    print(report(answers))
    sys.exit(any(share < WANTED[is_pure] for is_pure, share in shares(answers).items()))


def sample(count: int, seed: int, only: str, kinds: tuple[bool, ...]) -> list[tuple[Target, Mutant]]:
    """So many mutants by chance, the same for a seed, as many of each kind."""
    drawn: list[tuple[Target, Mutant]] = []
    for is_pure in kinds:
        of_kind = [target for target in targets() if target.is_pure is is_pure and target.name.startswith(only)]
        every = [(target, mutant) for target in track(of_kind, "reading") for mutant in mutants(target.path)]
        in_turn = iter(Random(seed).sample(every, len(every)))
        drawn += islice(((target, mutant) for target, mutant in in_turn if mutant.source), count // len(kinds))
    return drawn


def answered(chosen: list[tuple[Target, Mutant]], kept: Path) -> Iterator[dict[str, Any]]:
    """The fate of each, judged now or earlier on the same text of its module."""
    path = kept / "answers.jsonl"
    known = {line["key"]: line for line in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    waiting = [(target, mutant) for target, mutant in chosen if key(target, mutant) not in known]
    lines = covered({target for target, _ in waiting}, kept)
    migrate(kept / "home")
    with path.open("a") as file, ThreadPoolExecutor(AT_ONCE) as pool:
        fates = pool.map(lambda each: judge(each[0], each[1], lines[each[0]], kept / "home" / "assay.db"), waiting)
        for (target, mutant), fate in zip(waiting, track(fates, "mutants", total=len(waiting)), strict=True):
            answer = {
                "key": key(target, mutant),
                "module": target.name,
                "pure": target.is_pure,
                "line": mutant.line,
                "change": mutant.change,
                "fate": fate.value,
            }
            file.write(json.dumps(answer) + "\n")
            file.flush()
            known[answer["key"]] = answer
    return (known[key(target, mutant)] for target, mutant in chosen)


def covered(wanted: set[Target], kept: Path) -> dict[Target, Covering]:
    """The tests that run each line of these modules, recorded now, package by package."""
    found: dict[Target, Covering] = {}
    for package, is_pure in sorted({(target.package, target.is_pure) for target in wanted}):
        own = [target for target in wanted if (target.package, target.is_pure) == (package, is_pure)]
        data = kept / f"{package}-{'pure' if is_pure else 'rows'}.coverage"
        if not data.exists():
            record(own[0].tests, [package], data)
        found |= {target: covering(target, data) for target in own}
    return found


def key(target: Target, mutant: Mutant) -> str:
    """What tells a mutant from all others, of other texts of its module too."""
    return blake2s(f"{target.name}\0{mutant.source}".encode(), digest_size=8).hexdigest()


def shares(answers: list[dict[str, Any]]) -> dict[bool, float]:
    """The share that was noticed, of pure modules and of services."""
    every = Counter(answer["pure"] for answer in answers if answer["fate"] != Fate.EQUIVALENT)
    noticed = Counter(answer["pure"] for answer in answers if answer["fate"] == Fate.NOTICED)
    return {is_pure: noticed[is_pure] / count for is_pure, count in every.items()}


def report(answers: list[dict[str, Any]]) -> str:
    """The survivors by what became of them, and the shares."""
    lines = []
    for fate in (Fate.EQUIVALENT, Fate.UNREACHED, Fate.SURVIVED):
        left = [answer for answer in answers if answer["fate"] == fate]
        lines += [f"\n{fate.value}: {len(left)}"] if left else []
        lines += [f"  {each['module']}:{each['line']}  {each['change'][:180]}" for each in left]
    for is_pure, share in shares(answers).items():
        count = sum(each["pure"] is is_pure and each["fate"] != Fate.EQUIVALENT for each in answers)
        lines.append(f"{'pure modules' if is_pure else 'services'}: {share:.1%} of {count} noticed")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
