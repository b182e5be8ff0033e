"""What differs from Deequ on purpose (docs/verification.md), as far as data must be read for it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.verification import Check, ConstraintStatus, VerificationSuite, at_least
from execution_engine.verification.suite import ConstraintResult


def judged(folder: Path, check: Check, **columns: pa.Array) -> ConstraintResult:
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    (result,) = VerificationSuite().on(folder).add_check(check).run().checks[0].constraints
    return result


def test_a_correlation_with_a_constant_is_an_error_that_names_the_column(tmp_path: Path) -> None:
    check = Check().has_correlation("a", "b", at_least(0))
    result = judged(tmp_path, check, a=pa.array([1, 2, 3]), b=pa.array([7, 7, 7]))
    assert result.status is ConstraintStatus.ERROR
    assert "the column b is constant: correlation is not defined" in result.message


def test_a_map_is_complete_where_it_is_there(tmp_path: Path) -> None:
    maps = pa.array([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int64()))
    result = judged(tmp_path, Check().has_completeness("m", 0.75), m=maps)
    assert (result.status, result.value) == (ConstraintStatus.SUCCESS, 0.75)
