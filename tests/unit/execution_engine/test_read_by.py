"""Who read the values of scans: counts that add up, and reasons that stay few and short."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.read_by import (
    MOST_LETTERS,
    MOST_REASONS,
    NO_VALUES,
    OTHERS,
    FallbackKind,
    Left,
    ReadBy,
    from_json,
    read_by,
    together,
)

COUNTS = st.integers(min_value=0, max_value=10**6)
REASONS = st.builds(
    Left, kind=st.sampled_from(FallbackKind), why=st.text(max_size=2 * MOST_LETTERS), values=st.integers(1, 1000)
)
SCANS = st.builds(
    lambda footers, kernels, left: read_by(footers=footers, kernels=kernels, left=left),
    COUNTS,
    COUNTS,
    st.lists(REASONS, max_size=3 * MOST_REASONS),
)


def by_kind(left: list[Left]) -> Counter[FallbackKind]:
    counts: Counter[FallbackKind] = Counter()
    for each in left:
        counts[each.kind] += each.values
    return counts


@given(left=st.lists(REASONS, max_size=50))
def test_every_value_is_counted_under_its_kind_and_reasons_stay_few_and_short(left: list[Left]) -> None:
    found = read_by(left=left)
    assert found.left_by_kind == by_kind(left)
    assert found.spark == sum(each.values for each in left)
    assert len(found.left) <= MOST_REASONS + len(FallbackKind)
    assert len({(each.kind, each.why) for each in found.left}) == len(found.left)
    assert all(len(each.why) <= MOST_LETTERS for each in found.left)


@given(scans=st.lists(SCANS, max_size=6), cut=st.integers(0, 6))
def test_scans_add_up_however_they_are_grouped(scans: list[ReadBy], cut: int) -> None:
    whole, halves = together(scans), together([together(scans[:cut]), together(scans[cut:])])
    for found in (whole, halves):
        assert found.footers == sum(each.footers for each in scans)
        assert found.kernels == sum(each.kernels for each in scans)
        assert found.left_by_kind == by_kind([left for each in scans for left in each.left])
        assert len(found.left) <= MOST_REASONS + len(FallbackKind)


@given(scan=SCANS)
def test_a_row_keeps_all_of_it(scan: ReadBy) -> None:
    assert from_json(scan.to_json()) == scan
    assert together([scan, NO_VALUES]) == scan


def test_a_scan_of_before_it_was_noted_says_nothing() -> None:
    assert from_json({}) is None
    assert from_json(NO_VALUES.to_json()) == NO_VALUES


def test_the_most_frequent_reasons_are_told_and_the_rarest_of_a_kind_together() -> None:
    rare = [
        Left(kind=kind, why=f"{at} is rare") for kind in (FallbackKind.COLUMN, FallbackKind.UNKNOWN) for at in range(8)
    ]
    often = Left(kind=FallbackKind.COLUMN, why="fare is nested", values=5)
    found = read_by(left=[*rare, often]).left
    assert found[0] == often
    assert {(each.kind, each.values) for each in found if each.why == OTHERS} == {(FallbackKind.UNKNOWN, 7)}
    assert len(found) == MOST_REASONS + 1


@pytest.mark.parametrize(
    ("scan", "said"),
    [
        (NO_VALUES, "no values"),
        (ReadBy(kernels=1), "1 value by kernels"),
        (ReadBy(footers=2, kernels=12), "2 values by footers, 12 by kernels"),
        (
            read_by(
                kernels=12,
                left=[Left(kind=FallbackKind.UNKNOWN, why="arithmetic is Spark's")]
                + [Left(kind=FallbackKind.UNKNOWN, why="kll is Spark's to gather")] * 2,
            ),
            '12 values by kernels, 3 by Spark: 2 "kll is Spark\'s to gather", 1 "arithmetic is Spark\'s"',
        ),
    ],
    ids=["nothing", "one", "footers and kernels", "some by Spark"],
)
def test_it_is_said_in_one_line(scan: ReadBy, said: str) -> None:
    assert str(scan) == said
