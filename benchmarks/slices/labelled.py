"""Real cases with the causes that people gave: the data RS of RobustSpot, as shaido987/riskloc has them in data/RS."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import yaml

from execution_engine.attribution import Cells, Measure, cells_of, explain

PAST_MINUTES = 4  # whose mean is the forecast of those who published the data

Cause = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The causes that a case was explained by, the first one first, beside its label."""

    case: str
    causes: tuple[Cause, ...]
    label: frozenset[Cause]
    seconds: float


def verdicts(folder: Path, most: int) -> list[Verdict]:
    """Of all cases, in the order of their list. There is no past but the forecast, so the gates are off."""
    return [_verdict(case, cells, label, most) for case, cells, label in _cases(folder)]


def scores(verdicts_: list[Verdict]) -> dict[str, float]:
    """The shares of cases whose first slice is a cause, and where all are the causes; F1 by element; seconds a case."""
    hits = sum(len(verdict.label & set(verdict.causes)) for verdict in verdicts_)
    elements = sum(len(verdict.label) + len(verdict.causes) for verdict in verdicts_)
    return {
        "first": sum(set(verdict.causes[:1]) & verdict.label != set() for verdict in verdicts_) / len(verdicts_),
        "exact": sum(verdict.label == set(verdict.causes) for verdict in verdicts_) / len(verdicts_),
        "F1": 2 * hits / elements,
        "seconds": sum(verdict.seconds for verdict in verdicts_) / len(verdicts_),
    }


def _verdict(case: str, cells: Cells, label: frozenset[Cause], most: int) -> Verdict:
    started = perf_counter()
    slices = explain(cells, gates=False, most=most).slices
    seconds = perf_counter() - started
    causes = tuple(frozenset(slice_.values.items()) for slice_ in slices)
    return Verdict(case=case, causes=causes, label=label, seconds=seconds)


def _cases(folder: Path) -> Iterator[tuple[str, Cells, frozenset[Cause]]]:
    for case in yaml.safe_load((folder / "anomaly.yaml").read_text("utf-8")):
        causes = case["cause"] if isinstance(case["cause"], list) else [case["cause"]]
        label = frozenset(frozenset((column, str(value)) for column, value in cause.items()) for cause in causes)
        yield case["data"], _cells(folder / f"{case['data']}.csv", int(case["timestamp"])), label


def _cells(path: Path, minute: int) -> Cells:
    """The forecast as one past day: the mean of each cell over those of the last minutes that have it."""
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    columns = [name for name in rows[0] if name not in ("min", "value", "cnt")]
    past: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    today: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        cell, counts = tuple(row[name] for name in columns), (float(row["value"]), float(row["cnt"]))
        if int(row["min"]) == minute:
            today[cell].append(counts)
        elif minute - 60 * PAST_MINUTES <= int(row["min"]) < minute:
            past[cell].append(counts)
    known = {cell: counts for cell, counts in past.items() if cell in today}
    return cells_of(Measure.SHARE, columns, [_table(columns, day) for day in (known, today)])


def _table(columns: list[str], cells: dict[tuple[str, ...], list[tuple[float, float]]]) -> pa.Table:
    names = {name: pa.array([cell[at] for cell in cells], pa.string()) for at, name in enumerate(columns)}
    means = [[sum(side) / len(side) for side in zip(*counts, strict=True)] for counts in cells.values()]
    part, whole = ([mean[at] for mean in means] for at in (0, 1))
    return pa.table({**names, "part": pa.array(part, pa.float64()), "whole": pa.array(whole, pa.float64())})
