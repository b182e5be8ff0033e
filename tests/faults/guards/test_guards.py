"""Fault experiments fail without what they guard: the machine that asks, and a slice of what it asks."""

from pathlib import Path

import pytest

from benchmarks.cache import ROOT
from tests.faults.guards.guard import Edit, Guard, UnableToTakeOut
from tests.faults.guards.report import write_docs, write_held
from tests.faults.guards.table import GUARDS
from tests.faults.guards.trial import Answer, Fate, without
from tests.faults.registry import EXPERIMENTS

IN_SECONDS = (16,)  # what tells within seconds, and each time: of seven the kill must come within a second of a commit
GUARD = Guard(experiment=3, name="a lock", without="it opens", breaks=frozenset({"I2"}), edits=())


def answer(held: bool | None = True, **violations: list[str]) -> Answer:
    return Answer(guard=GUARD, held=held, violations=violations, seconds=1.0)


def test_every_experiment_has_a_guard() -> None:
    assert {guard.experiment for guard in GUARDS} == {experiment.number for experiment in EXPERIMENTS}


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: f"{guard.experiment}: {guard.name}")
def test_what_is_taken_out_is_in_the_code_once_and_the_rest_is_still_python(guard: Guard) -> None:
    for edit in guard.edits:
        text = (ROOT / edit.path).read_text()
        changed = edit.made(text)
        assert changed != text
        if edit.path.endswith(".py"):
            compile(changed, edit.path, "exec")


def test_code_that_has_changed_since_is_not_taken_out_by_halves() -> None:
    with pytest.raises(UnableToTakeOut, match=r"lock\.py holds 'closed = 1' 2 times, not once"):
        Edit(path="lock.py", was="closed = 1", becomes="").made("closed = 1\nclosed = 1\n")


def test_an_experiment_that_could_not_be_staged_has_told_nothing() -> None:
    assert answer(I1=[], staged=["Traceback …"]).fate is Fate.UNSTAGED
    assert answer(I1=[], I2=[]).fate is Fate.PASSED
    assert answer(I1=["one"], staged=["nothing"]).fate is Fate.OTHERWISE
    assert answer(I2=["twice"], staged=["nothing"]).fate is Fate.FAILED


def test_an_experiment_that_fails_with_its_guard_too_tells_nothing_either() -> None:
    assert answer(I2=["twice"]).is_guarded
    assert not answer(held=False, I2=["twice"]).is_guarded


def test_answers_stand_in_the_page_one_row_a_guard(tmp_path: Path) -> None:
    page = tmp_path / "reliability.md"
    page.write_text("| 3 | a | b |\n<!-- guards -->\n<!-- /guards -->\n")
    write_docs([answer()], page)
    write_docs([answer(held=None, I2=["twice", "thrice"], I3=[])], page)
    assert page.read_text().splitlines()[4:] == [
        "| 3 | a lock | it opens | not asked | fails: I2 (2) |",
        "<!-- /guards -->",
    ]
    write_held({3: True, 4: False}, page)
    assert page.read_text().splitlines()[4:] == [
        "| 3 | a lock | it opens | holds | fails: I2 (2) |",
        "<!-- /guards -->",
    ]


@pytest.mark.timeout(600)
@pytest.mark.whole
@pytest.mark.parametrize(
    "guard",
    [guard for guard in GUARDS if guard.experiment in IN_SECONDS],
    ids=lambda guard: f"{guard.experiment}: {guard.name}",
)
def test_an_experiment_fails_without_what_it_guards(guard: Guard) -> None:
    found = without(guard)
    assert found.fate is Fate.FAILED, found.told
