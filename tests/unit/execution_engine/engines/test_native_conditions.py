"""Conditions over drawn files are answered, row by row, as Spark once answered them."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.integration.kernels.by_kernels import Tally, by_kernels, pieces_in
from tests.integration.kernels.kept import KEPT_TABLES, kept
from tests.integration.kernels.tables import write_drawn


@pytest.mark.parametrize("seed", KEPT_TABLES)
def test_each_row_meets_the_conditions_that_it_met_in_spark(seed: int, tmp_path: Path) -> None:
    write_drawn(Random(seed), tmp_path)
    said, tally = kept(seed), Tally()
    found = by_kernels(*pieces_in(tmp_path), list(said), tally)
    assert not tally.declined
    assert [sql for sql, truths in said.items() if not np.array_equal(found[sql], truths)] == []
