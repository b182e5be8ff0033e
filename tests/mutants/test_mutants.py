"""Small faults put into the code are noticed: the machine that asks, and a slice of what it asks."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mutants.mutation import Mutant, mutants
from tests.mutants.targets import CHOOSES_ROWS, ROOT, Target, targets
from tests.mutants.trial import Fate, covering, judge, record

pytestmark = pytest.mark.timeout(600)

SUSTAIN = Target(path=ROOT / "alerting" / "verdicts" / "sustain.py", is_pure=True)
BACK_OFF = SUSTAIN.path.read_text().partition("INITIAL_INTERVAL =")[0].count("\n")  # the lines before it
TIERS = Target(path=ROOT / "platform" / "assay" / "catalog" / "tiers.py", is_pure=True)
TESTS = ("tests/unit/alerting/test_backoff.py",)
MODULE = '''"""About it."""

__all__ = ["is_late", "say"]
LIMIT = 3
Ages = list[int] | None
T = TypeVar("T")
Unit = Literal["d"]


def is_late(age: int, grace: int | None = None) -> bool:
    """Whether it is late."""
    return age > LIMIT and not grace


def say(path: Path, ages: Any) -> str:
    why = f"{ages} is late"
    return warn("it is late", path.read_text(encoding="utf-8"), cast(Ages, ages), why)


def pairs(ages: list[int], graces: list[int]) -> list[tuple[int, int]]:
    return list(zip(ages, graces, strict=True))
'''
WARN = 'warn("it is late", path.read_text(encoding="utf-8"), cast(Ages, ages), why)'
LOST = (
    ('"it is late", ', ""),
    ('path.read_text(encoding="utf-8")', "None"),
    ('path.read_text(encoding="utf-8"), ', ""),
    ("cast(Ages, ages)", "None"),
    ("cast(Ages, ages), ", ""),
    ("why", "None"),
    ("why", ""),
)


def changes(tmp_path: Path) -> dict[str, Mutant]:
    path = tmp_path / "late.py"
    path.write_text(MODULE)
    return {mutant.change: mutant for mutant in mutants(path)}


def test_each_node_is_changed_alone_and_sentences_and_annotations_are_left(tmp_path: Path) -> None:
    assert set(changes(tmp_path)) == {
        "LIMIT = 3 → LIMIT = None",
        "3 → 4",
        "age > LIMIT and not grace → age > LIMIT or not grace",
        "> LIMIT → >= LIMIT",
        "not grace → grace",
        *(f"zip(ages, graces, strict=True) → zip({few}strict=True)" for few in ("None, graces, ", "ages, None, ")),
        *(f"zip(ages, graces, strict=True) → zip({few}strict=True)" for few in ("graces, ", "ages, ")),
        "list(zip(ages, graces, strict=True)) → list(None)",
        'Unit = Literal["d"] → Unit = None',
        '"d" → "XXdXX"',
        '"d" → "D"',
        'why = f"{ages} is late" → why = None',
        "cast(Ages, ages) → cast(Ages, None)",
        "cast(Ages, ages) → cast(Ages, )",
        *(f"{WARN} → {WARN.replace(gone, few)}" for gone, few in LOST),
    }


def test_a_mutant_is_its_module_with_one_node_changed(tmp_path: Path) -> None:
    changed = changes(tmp_path)["> LIMIT → >= LIMIT"]
    assert (changed.line, changed.source) == (12, MODULE.replace("age > LIMIT", "age >= LIMIT"))


def test_every_pure_module_and_every_service_is_a_target_with_tests() -> None:
    known = {target.name: target for target in targets()}
    assert known["alerting.verdicts.sustain"].is_pure
    assert not known["incident_manager.gate.services"].is_pure
    assert [name for name, target in known.items() if not target.tests] == []


def test_every_place_to_mutate_is_there() -> None:
    assert [pattern for pattern in CHOOSES_ROWS if not any(ROOT.glob(pattern))] == []


def test_a_slice_of_the_mutants_of_the_back_off_is_noticed(tmp_path: Path) -> None:
    record(TESTS, ["alerting"], tmp_path / "coverage")
    lines = covering(SUSTAIN, tmp_path / "coverage")
    chosen = [mutant for mutant in mutants(SUSTAIN.path) if mutant.source and mutant.line > BACK_OFF][::6]
    with ThreadPoolExecutor(2) as pool:
        fates = list(pool.map(lambda mutant: judge(SUSTAIN, mutant, lines), chosen))
    seen = {mutant.change: fate for mutant, fate in zip(chosen, fates, strict=True)}
    assert len(seen) > 10
    assert [change for change, fate in seen.items() if fate in (Fate.SURVIVED, Fate.UNREACHED)] == []


def test_a_module_of_which_all_runs_when_it_is_imported_is_asked_of_its_own_tests() -> None:
    hours = next(mutant for mutant in mutants(TIERS.path) if mutant.change == "48 → 49")
    assert judge(TIERS, hours, {}) is Fate.NOTICED
