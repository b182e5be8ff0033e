"""Spark's own examples of what is in the closed language, with the answers that its documentation gives.

Source: the examples of Spark's built-in functions and operators (``isnan``, ``like``, ``rlike``, ``between``, …), and
"NULL Semantics", "NaN Semantics" and "Data Types" of its SQL reference. What is a literal there is a column here, as
Spark computes literals before it sees a row.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .by_kernels import Truths
from .tables import ROW

NAN, INFINITY = math.nan, math.inf
T, F, U = True, False, None
AGES = (30, None, 18, 50, None, 30, 50)  # of the table person of "NULL Semantics"
TRUTHS = ((T, T, T, F, F, F, U, U, U), (T, F, U, T, F, U, T, F, U))  # every pair, as its tables of AND and OR list them
WINDOWS, UNIX = "%SystemDrive%\\Users\\John", "%SystemDrive%/Users/John"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A condition over the columns ``a`` and ``b``, what it is on each row, and whether the kernels answer it."""

    sql: str
    a: Sequence[Any]
    b: Sequence[Any] = ()
    says: Sequence[bool | None]
    native: bool = True


def _case(sql: str, a: Sequence[Any], *says: bool | None, b: Sequence[Any] = (), native: bool = True) -> Case:
    return Case(sql=sql, a=a, b=b, says=says, native=native)


CASES = (
    # comparisons: SELECT 2 = 2; SELECT 1 != 2; SELECT 1 < 2; SELECT 1 < NULL; SELECT true = NULL
    _case("a = 2", [2, 1, None], T, F, U),
    _case("a != 2", [1, 2, None], T, F, U),
    _case("a <> b", [1, 1, None], T, F, U, b=[2, 1, 2]),
    _case("a < 2", [1, 2, None], T, F, U),
    _case("a <= 2", [2, 3, None], T, F, U),
    _case("a > 1", [2, 1, None], T, F, U),
    _case("a >= 1", [2, 1, 0], T, T, F),
    _case("a = b", [True, None, None], U, U, U, b=[None, True, None]),
    _case("a <=> b", [2, None, 1], T, T, F, b=[2, None, None], native=False),
    # SELECT 0.5 between 0.1 AND 1.0; SELECT 1 in(1, 2, 3)
    _case("a between 0.1 and 1.0", [Decimal("0.5"), Decimal("1.5"), None], T, F, U),
    _case("a between 0.1 and 1.0", [0.5, 0.1, 1.5], T, T, F),
    _case("a not between 1 and 3", [0, 2, None], T, F, U),
    _case("a in (1, 2, 3)", [1, 4, None], T, F, U),
    _case("a in (2, 3, 4)", [1, 2, None], F, T, U),
    _case("a in (1, null)", [1, 2], T, U, native=False),
    _case("a not in (1, 2)", [1, 3, None], F, T, U),
    # SELECT isnan(cast('NaN' as double)); SELECT isnull(1); SELECT isnotnull(1)
    _case("isnan(a)", [NAN, 1.0, None], T, F, F),
    _case("isnull(a)", [1, None], F, T),
    _case("a is null", [1, None], F, T),
    _case("a is not null", [1, None], T, F),
    # NULL Semantics: the table person, and the tables of AND, OR and NOT
    _case("a > 0", AGES, T, U, T, T, U, T, T),
    _case("a > 0 or a is null", AGES, T, T, T, T, T, T, T),
    _case("a <> 30 and a is not null", AGES, F, F, T, T, F, F, T),
    _case("a and b", TRUTHS[0], T, F, U, F, F, F, U, F, U, b=TRUTHS[1]),
    _case("a or b", TRUTHS[0], T, T, T, T, F, U, T, U, U, b=TRUTHS[1]),
    _case("not a", [T, F, U], F, T, U),
    # NaN Semantics: NaN = NaN returns true; NaN goes last, larger than any other numeric value
    _case("a = b", [NAN, 1.0, NAN], T, F, F, b=[NAN, NAN, 1.0]),
    _case("a > b", [NAN, NAN, INFINITY], T, F, F, b=[INFINITY, NAN, NAN]),
    _case("a < b", [INFINITY, NAN, -INFINITY], T, F, T, b=[NAN, 1.0, INFINITY]),
    _case("a >= 1e308", [NAN, INFINITY, 1.0], T, T, F),
    _case("a < 0", [NAN, -INFINITY, -0.0], F, T, F),
    # Data Types: 0.0 = -0.0
    _case("a = b", [0.0, -0.0], T, T, b=[-0.0, 0.0]),
    _case("a in (0e0)", [0.0, -0.0, NAN], T, T, F),
    # SELECT like('Spark', '_park'), and the escapes of its examples
    _case("a like '_park'", ["Spark", "park", "SSpark", None], T, F, F, U),
    _case(r"a like '\\%SystemDrive\\%\\\\Users%'", [WINDOWS, UNIX], T, F),
    _case("a like '/%SystemDrive/%//Users%' escape '/'", [UNIX, WINDOWS], T, F, native=False),
    _case("a like '%SystemDrive%'", [WINDOWS, UNIX, ""], T, T, F),
    _case("a not like 'S%'", ["Spark", "park", None], F, T, U),
    _case("a like '%é'", ["S🦉é", "é", "e\u0301", "éa", None], T, T, F, F, U),
    _case("a like '%🦉%'", ["S🦉é", "🦉", "🦊"], T, T, F),
    _case("a like 'S\n1'", ["S\n1", "S\n1\n", " S\n1"], T, F, F),
    _case("a like '%%'", ["", "Spark", None], T, T, U),
    _case("a like ''", ["", " ", None], T, F, U),
    _case("a like '%}]'", ["{[]}]", "}", "]"], T, F, F),
    _case("a like 'S__'", ["S🦉é", "Spark", "S\n1"], T, F, T),
    # SELECT rlike('%SystemDrive%\\Users\\John', '%SystemDrive%\\\\Users.*')
    _case(r"a rlike '%SystemDrive%\\\\Users.*'", [WINDOWS, UNIX, None], T, F, U),
    _case("a rlike '^Sp'", ["Spark", "aSpark"], T, F),
    _case("a not rlike 'park$'", ["Spark", "parks", None], F, T, U),
    _case(r"a rlike '^\\d+$'", ["12", "12a", "", "\u0661"], T, F, F, F),
    _case(r"a rlike '(?i)SPARK'", ["Spark", "park"], T, F, native=False),
    # SELECT char_length('Spark SQL '), which counts the trailing space; data type strings count code points
    _case("char_length(a) = 10", ["Spark SQL ", "Spark SQL", None], T, F, U),
    _case("char_length(a) = 2", ["é🦉", "e\u0301", "é"], T, T, F),
    # texts are compared by their bytes, and with their trailing spaces
    _case("a = 'a'", ["a", "a ", "A", None], T, F, F, U),
    _case("a < 'b'", ["a", "B", "b", "é"], T, T, F, F),
    _case("a > b", ["\U0001f989", "\uffff"], T, F, b=["\uffff", "\U0001f989"]),
    # a literal with a point is a decimal, one with an exponent a double
    _case("a = 0.1", [0.1, 0.2], T, F),
    _case("a = 1e0", [1, 2], T, F),
    _case("a in (9007199254740993, 1e0)", [2**53, 2**53 + 1, 1, 2], T, T, T, F),  # as doubles: the first two are one
    _case("a in (9007199254740993, 1)", [2**53, 2**53 + 1, 1, None], F, T, T, U),
    _case("a > 2147483647", [2**31, 2**31 - 1], T, F),
    _case("a < 9223372036854775808", [2**63 - 1, None], T, T, native=False),  # Spark's answer; no document says so
)  # fmt: skip
SAID = {1: True, 0: False, -1: None}
ROWS = max(len(case.a) for case in CASES)


def condition(at: int, case: Case) -> str:
    """Over columns of its own, as all cases are asked at once; what stands in quotes stays."""
    parts = case.sql.split("'")
    return "'".join(part if odd % 2 else re.sub(r"\b([ab])\b", rf"\1_{at}", part) for odd, part in enumerate(parts))


def write_cases(folder: Path) -> None:
    """One file with the columns of every case."""
    columns = {ROW: pa.array(range(ROWS))}
    for at, case in enumerate(CASES):
        for name, values in (("a", case.a), ("b", case.b)):
            if values:
                columns[f"{name}_{at}"] = pa.array([*values, *[None] * (ROWS - len(values))])
    pq.write_table(pa.table(columns), folder / "a.parquet")


def told(answers: Mapping[str, Truths | str]) -> dict[str, list[bool | None] | str]:
    """What was answered on the rows of each case."""
    found: dict[str, list[bool | None] | str] = {}
    for at, case in enumerate(CASES):
        truths = answers.get(condition(at, case), "no answer")
        shown = truths if isinstance(truths, str) else [SAID[int(one)] for one in truths[: len(case.says)]]
        found[f"{at}: {case.sql}"] = shown
    return found
