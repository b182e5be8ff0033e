"""A slice of mutants; with ``ASSAY_FUZZ=full`` 100,000, with a number so many, and up to 1,800 of them run in Spark."""

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from execution_engine.guard import UnableToAllow
from tests.fuzz.guard import MAX_REFUSED_RUN, MAX_RUN, Tally, allowed, judge, run_accepted, run_refused, table
from tests.fuzz.guard_mutants import Mutant, mutant
from tests.fuzz.guard_sandbox import Canaries, Sandbox

ASKED = os.environ.get("ASSAY_FUZZ", "")
COUNT = 100_000 if ASKED == "full" else int(ASKED) if ASKED.isdigit() else 0
START = int(os.environ.get("ASSAY_FUZZ_START", "0"))  # other numbers make other mutants
SLICE, CHUNK = 1_500, 500
MAX_SECONDS = 1.0  # of CPU for one answer
KEPT = Path(__file__).with_name("guard_kept.txt")  # mutants that once went wrong


def test_the_guard_answers_every_mutant() -> None:
    tally = judge(START, SLICE)
    assert tally.faults == []
    assert tally.slowest[0] <= MAX_SECONDS, tally.slowest
    assert tally.ends["honest", "accepted"] > 50
    assert tally.ends["with an attack", "refused"] > 50 * tally.ends["with an attack", "accepted"]


@pytest.mark.parametrize("line", KEPT.read_text().splitlines()[1:])
def test_what_once_went_wrong_goes_right(line: str) -> None:
    said, _, text = line.partition(" ")
    one = Mutant(seed=0, text=json.loads(text), is_condition=False, is_attack=True)
    if said == "accepted":
        assert allowed(one)
    else:
        with pytest.raises(UnableToAllow):
            allowed(one)


def test_a_number_makes_one_mutant() -> None:
    assert mutant(7) == mutant(7)
    assert len({mutant(seed).text for seed in range(200)}) > 190


def run_mutants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that the guard lets through touches a canary."""
    began, tally = time.monotonic(), Tally()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(judge, range(START, START + COUNT, CHUNK), [CHUNK] * (COUNT // CHUNK)):
            tally.add(found)
    canaries = Canaries(scratch=tmp_path)
    canaries.set_out()
    sandbox = Sandbox(canaries)
    share = min(1.0, COUNT / 10_000)
    with canaries.listening():
        try:
            refused = run_refused(sandbox, tally, int(MAX_REFUSED_RUN * share))
            sandbox.close()
            accepted = run_accepted(sandbox, tally, int((MAX_RUN - MAX_REFUSED_RUN) * share))
        finally:
            sandbox.close()
    with capsys.disabled():
        print(f"\n{tally.count:,} mutants from number {START} in {time.monotonic() - began:.0f} s")
        print(table(tally, accepted, refused))
    assert tally.faults == []
    assert accepted.touched == []
    assert {"table", "state", "user"} <= set(refused.canaries), "a canary that nothing can touch proves nothing"
    assert accepted.ends["gave rows"] > accepted.ends["took too long"]
    assert all(allowed(mutant(seed)) for seed in list(tally.accepted.values())[:20])


if COUNT:  # it takes minutes
    test_nothing_that_the_guard_lets_through_touches_a_canary = pytest.mark.timeout(3600)(run_mutants)
