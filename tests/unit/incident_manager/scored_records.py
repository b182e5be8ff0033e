"""Scores of records, as the program computes them: records become spells, and all groups are scored at once."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from assay.time.windows import Window
from incident_manager.scores.rules import (
    FOREVER,
    KIND_OF,
    Ints,
    Score,
    SpellKind,
    Spells,
    Sums,
    microseconds,
    score_groups,
)
from tests.unit.incident_manager.scores_by_intervals import DatasetScore, DetectedIncident, Record, missed

Place = tuple[str, str, str]  # group, dataset and category
Rows = list[tuple[Place, int, int, int]]


def score_dataset(
    records: Mapping[str, Record], asked: Window, *, detected: Iterable[DetectedIncident]
) -> DatasetScore:
    """The score of a dataset from its records by category."""
    edges, known = (asked.start, asked.end), {"it": tuple(detected)}
    whole, _ = score_records({("whole", "it", category): one for category, one in records.items()}, edges, known)
    single, names = score_records({(category, "it", category): one for category, one in records.items()}, edges, known)
    return DatasetScore(whole=whole.score(0), by_category={name: single.score(at) for at, name in enumerate(names)})


def score(record: Record, asked: Window, *, detected: Iterable[DetectedIncident]) -> Score:
    """The score of one dataset and category."""
    return score_dataset({"one": record}, asked, detected=detected).whole


def score_records(
    records: Mapping[Place, Record], edges: Sequence[datetime], detected: Mapping[str, Iterable[DetectedIncident]]
) -> tuple[Sums, list[str]]:
    """The scores of all groups over the parts between edges, and the groups' names in their order."""
    asked = Window(start=edges[0], end=edges[-1])
    rows = [row for place, one in records.items() for row in _rows(place, one, asked, tuple(detected[place[1]]))]
    names = [list(dict.fromkeys(place[at] for place in records)) for at in range(3)]
    group, dataset, category = (_ints(names[at].index(place[at]) for place, *_ in rows) for at in range(3))
    kind, start, end = (_ints(numbers[at] for _, *numbers in rows) for at in range(3))
    spells = Spells(dataset=dataset, category=category, kind=kind, start=start, end=end)
    backwards = np.arange(len(rows))[::-1]  # in whatever order they come
    return score_groups(spells.only(backwards), group[backwards], edges), names[0]


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def _rows(place: Place, record: Record, asked: Window, detected: tuple[DetectedIncident, ...]) -> Rows:
    found: Rows = [(place, SpellKind.NOTHING, 0, 0)]
    opened = [(episode, KIND_OF[incident.how]) for incident in record.incidents for episode in incident.episodes]
    opened += [(report.episode, SpellKind.REPORTED) for report in record.reports]
    for episode, kind in opened:
        end = FOREVER if episode.end is None else microseconds(episode.end)
        found.append((place, kind, microseconds(episode.start), end))
    closed = [(window, SpellKind.MISSED) for report in record.reports for window in missed(report, detected, asked)]
    closed += [(record.tested, SpellKind.TESTED)] if record.tested else []
    found += [(place, kind, microseconds(window.start), microseconds(window.end)) for window, kind in closed]
    return found
