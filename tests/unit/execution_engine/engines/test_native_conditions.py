"""Conditions over drawn files are answered, row by row, as Spark once answered them."""

from pathlib import Path

import numpy as np
import pytest

from tests.integration.kernels.by_kernels import Tally, by_kernels, drawn_conditions, pieces_in
from tests.integration.kernels.kept import KEPT_TABLES, OF_A_KEPT, kept


@pytest.mark.parametrize("seed", KEPT_TABLES)
def test_each_row_meets_the_conditions_that_it_met_in_spark(seed: int, tmp_path: Path) -> None:
    tally = Tally()
    conditions = drawn_conditions(seed, OF_A_KEPT, tmp_path, tally)
    found, said = by_kernels(*pieces_in(tmp_path), conditions, tally), kept(seed)
    assert found.keys() == said.keys()
    assert [sql for sql, truths in said.items() if not np.array_equal(found[sql], truths)] == []
