"""What looks odd in a column at first sight, and what does not."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from execution_engine.profiles.gather import column_profile
from execution_engine.profiles.lints import lints_of

DAYS = [f"2026-03-{1 + at % 28:02d}" for at in range(100)]


def names(values: Sequence[object]) -> dict[str, float]:
    """The lints of a column, each with the share of rows that it is of."""
    return {lint["name"]: round(lint["share"], 3) for lint in lints_of(column_profile(pa.array(values)))}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a"] * 50, {"constant": 1.0}),
        ([7] * 50, {"constant": 1.0}),
        (DAYS, {"dates as texts": 1.0}),
        ([f"{day}T12:00:00Z" for day in DAYS], {"dates as texts": 1.0}),
        ([*DAYS[:60], *(f"{1 + at % 12}/3/2026" for at in range(40))], {"dates as texts": 1.0, "mixed formats": 1.0}),
        ([str(at * 37 + 1) for at in range(100)], {"numbers as texts": 1.0}),
        ([f"{at / 7 + 1:.2f}" for at in range(100)], {"numbers as texts": 1.0}),
        ([f"{at:05d}" for at in range(100)], {}),  # zip codes: zeros in front mean something
        (["open"] * 60 + ["Open"] * 30 + ["closed "] * 5 + ["closed"] * 5, {"near duplicates": 0.35}),
        (["Oslo"] * 50 + ["Rome"] * 45 + ["N/A"] * 5, {"stand-ins": 0.05}),
        ([*range(90), *[99999] * 10], {"stand-ins": 0.1}),
        ([*range(90), *[99] * 10], {}),  # not far from the others
        ([*range(1, 91), *[-1] * 10], {}),  # nor is this one
        ([1000 + at for at in range(90)] + [-999] * 10, {"stand-ins": 0.1}),
        (["x"] * 49 + ["AKIAABCDEFGH12345678"], {"leaked secrets": 0.02}),
        (["x"] * 49 + ["postgres://ann:hunter2@db/prod"], {"leaked secrets": 0.02}),
        (["https://example.com/a"] * 25 + ["https://example.com/b"] * 25, {}),
        (["ab"] * 10 + ["N/A"], {}),  # so few that everything looks odd
        ([None] * 100, {}),
        ([1.5, 2.5, float("nan"), float("inf")] * 20, {}),
        ([["a"]] * 50, {}),
    ],
)
def test_what_looks_odd_is_named_with_its_share(values: list[object], found: dict[str, float]) -> None:
    assert names(values) == found


def test_what_a_secret_is_like_is_told_and_the_secret_is_not() -> None:
    secret = "ghp_" + "a1B2" * 8
    (lint,) = lints_of(column_profile(pa.array(["x"] * 49 + [secret])))
    assert "a token of GitHub" in lint["said"]
    assert secret not in lint["said"]


def test_the_oddest_comes_first() -> None:
    values = ["2026-03-01"] * 60 + ["N/A"] * 2
    assert list(names(values)) == ["dates as texts", "stand-ins"]
