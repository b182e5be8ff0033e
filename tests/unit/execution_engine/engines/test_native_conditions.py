"""Conditions over drawn files are answered, row by row, as Spark once answered them."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from execution_engine.engines.native import reading
from tests.integration.kernels.by_kernels import Tally, by_kernels, pieces_in
from tests.integration.kernels.documented import CASES, condition, told, write_cases
from tests.integration.kernels.kept import KEPT_TABLES, kept
from tests.integration.kernels.tables import write_drawn


@pytest.mark.parametrize("few", [0, 1 << 30], ids=["texts one by one", "texts of a dictionary"])
@pytest.mark.parametrize("seed", KEPT_TABLES)
def test_each_row_meets_the_conditions_that_it_met_in_spark(
    seed: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FEW_BYTES", few)
    write_drawn(Random(seed), tmp_path)
    said, tally = kept(seed), Tally()
    found = by_kernels(*pieces_in(tmp_path), list(said), tally)
    assert not tally.declined
    assert [sql for sql, truths in said.items() if not np.array_equal(found[sql], truths)] == []


def test_the_examples_of_sparks_documentation_are_answered_as_it_says_or_left(tmp_path: Path) -> None:
    """``test_documented`` asks Spark the same."""
    write_cases(tmp_path)
    answers = by_kernels(*pieces_in(tmp_path), [condition(at, case) for at, case in enumerate(CASES)], Tally())
    assert told(answers) == {
        f"{at}: {case.sql}": list(case.says) if case.native else "no answer" for at, case in enumerate(CASES)
    }
