"""A slice of mutants; with ``ASSAY_FUZZ=full`` 100,000, with a number so many, and then many of them run in Spark."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import pytest

from execution_engine.guard import UnableToAllow
from tests.fuzz.guard import Tally, allowed, judge, run_accepted, run_refused
from tests.fuzz.guard_canaries import Canaries
from tests.fuzz.guard_controls import run_controls
from tests.fuzz.guard_mutants import Mutant, mutant
from tests.fuzz.guard_report import Progress, judged, ran, took, touched
from tests.fuzz.guard_sandbox import Sandbox
from tests.fuzz.guard_watch import Watch

T = TypeVar("T")
ASKED = os.environ.get("ASSAY_FUZZ", "")
COUNT = 100_000 if ASKED == "full" else int(ASKED) if ASKED.isdigit() else 0
START = int(os.environ.get("ASSAY_FUZZ_START", "0"))  # other numbers make other mutants
SLICE, CHUNK = 1_500, 500
MAX_REFUSED_RUN = min(2_000, max(500, COUNT // 50))  # with the attacks themselves
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


def test_a_file_that_was_read_is_noticed_though_nothing_of_it_is_shown(tmp_path: Path) -> None:
    secret, other = tmp_path / "secret", tmp_path / "other"
    for path in (secret, other):
        path.write_text("x")
    watch = Watch(files=lambda: tmp_path.iterdir())
    watch.start()
    assert watch.touched() == frozenset()
    secret.read_text()
    assert watch.touched() == {secret}


def test_an_attack_is_aimed_at_the_canaries_in_whatever_case_it_is_written(tmp_path: Path) -> None:
    canaries = Canaries(scratch=tmp_path, port=4000)
    assert canaries.aimed("SELECT * FROM TEXT.`/ETC/passWD`") == f"SELECT * FROM TEXT.`{canaries.file}`"
    assert canaries.aimed("'${ENV:Db_Password}'") == "'${env:DB_PASSWORD}'"
    assert canaries.aimed("add jar 'http://127.0.0.1:9/x'") == "add jar 'http://127.0.0.1:4000/x'"


@pytest.mark.parametrize("path", ["/home/x", "../x", "{scratch}/../x", "/tmp/x' '/home/y"])
def test_a_refused_statement_that_writes_outside_the_scratch_folder_is_never_run(tmp_path: Path, path: str) -> None:
    sandbox = Sandbox(Canaries(scratch=tmp_path))
    writes = f"insert overwrite directory '{path.format(scratch=tmp_path)}' using csv select 1"
    assert not sandbox.may_run(writes)
    assert sandbox.may_run("insert overwrite directory '/tmp/x' using csv select 1")


def run_mutants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that the guard lets through touches a canary, and each canary can be touched."""
    canaries = Canaries(scratch=tmp_path)
    canaries.set_out()
    with capsys.disabled(), canaries.listening():
        progress = Progress(lambda text: print(text, flush=True))
        print(f"\n{COUNT:,} mutants from number {START}")
        tally = _judged(progress)
        print(judged(tally))
        progress.begin("controls in bare Spark")
        bare = _within(Sandbox(canaries, is_open=True), lambda sandbox: run_controls(sandbox, progress.done))
        progress.begin("controls in our Spark")
        hardened = _within(Sandbox(canaries), lambda sandbox: run_controls(sandbox, progress.done))
        progress.begin("refused, guard off")
        refused = _within(Sandbox(canaries), lambda one: run_refused(one, tally, MAX_REFUSED_RUN, progress.done))
        progress.begin("accepted")
        accepted = _within(Sandbox(canaries), lambda one: run_accepted(one, tally, progress.done))
        print(ran(accepted, refused))
        print(touched(hardened, bare, refused, accepted))
        print(took(progress, f"{os.cpu_count()} cores"))
    assert tally.faults == []
    assert accepted.touched == []
    assert bare.dead == {}, "a canary that nothing can touch proves nothing"
    assert {"table", "setting", "catalog", "folder", "user"} <= set(refused.canaries)
    assert accepted.ends["gave rows"] > accepted.ends["took too long"]
    assert all(allowed(mutant(seed)) for seed in list(tally.accepted.values())[:20])


def _judged(progress: Progress) -> Tally:
    tally = Tally()
    progress.begin("judged")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(judge, range(START, START + COUNT, CHUNK), [CHUNK] * (COUNT // CHUNK)):
            tally.add(found)
            progress.done(tally.count, COUNT)
    return tally


def _within(sandbox: Sandbox, run: Callable[[Sandbox], T]) -> T:
    try:
        return run(sandbox)
    finally:
        sandbox.close()


if COUNT:  # it takes minutes
    test_nothing_that_the_guard_lets_through_touches_a_canary = pytest.mark.timeout(7200)(run_mutants)
