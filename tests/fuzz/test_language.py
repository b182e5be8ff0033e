"""A million texts and a hundred thousand assertions with ``ASSAY_FUZZ=full``, in two processes; else a slice."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import pytest

from tests.fuzz.language import Tally, fuzz
from tests.fuzz.logic import Agreement, compare_with_sqlite
from tests.fuzz.texts import SHARES

T = TypeVar("T")
FULL = os.environ.get("ASSAY_FUZZ") == "full"
START = int(os.environ.get("ASSAY_FUZZ_START", "0"))  # other numbers make other texts
TEXTS, ASSERTIONS = 1_000_000, 100_000
SLICE_SECONDS = 10.0
CHUNK = 500
MAX_SECONDS = 0.050  # of CPU for one text


def in_two_processes(work: Callable[[int, int], T], count: int, add: Callable[[T], None]) -> None:
    """Adds what ``work(start, CHUNK)`` finds, for all chunks."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(work, range(START, START + count, CHUNK), [CHUNK] * (count // CHUNK)):
            add(found)


def table(tally: Tally) -> str:
    """How the texts of each kind ended, and which took longest."""
    ends = sorted({end for _, end in tally.ends})
    lines = [f"{'texts':>10}{''.join(f'{end:>12}' for end in ends)}   slowest"]
    for kind in SHARES:
        counts = "".join(f"{tally.ends[kind, end]:>12,}" for end in ends)
        seconds, text = tally.slowest.get(kind, (0.0, ""))
        lines.append(f"{kind:>10}{counts}   {seconds * 1000:.1f} ms ({text})")
    return "\n".join(lines)


@pytest.mark.timeout(6 * 3600)
def test_no_text_does_harm_or_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    tally, began = Tally(), time.monotonic()
    if FULL:
        in_two_processes(fuzz, TEXTS, tally.add)
    while not FULL and time.monotonic() - began < SLICE_SECONDS:
        tally.add(fuzz(START + tally.count, CHUNK))
    with capsys.disabled():
        print(f"\n{tally.count:,} texts in {time.monotonic() - began:.0f} s\n{table(tally)}")
    assert tally.faults == []
    assert max(tally.slowest.values())[0] <= MAX_SECONDS
    assert {"held", "broken", "error", "refused", "unreadable"} <= {end for _, end in tally.ends}


@pytest.mark.timeout(6 * 3600)
def test_random_assertions_agree_with_sqlite(capsys: pytest.CaptureFixture[str]) -> None:
    found, began = Agreement(), time.monotonic()
    if FULL:
        in_two_processes(compare_with_sqlite, ASSERTIONS, found.add)
    else:
        found.add(compare_with_sqlite(START, 5_000))
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(found.outcomes.items()))
    with capsys.disabled():
        print(f"\nwith SQLite in {time.monotonic() - began:.0f} s: {counts}; {found.noise} binary noise in SQLite")
    assert found.differences == []
    assert found.noise <= found.outcomes.total() / 1_000
    assert set(found.outcomes) == {"held", "broken", "error"}
