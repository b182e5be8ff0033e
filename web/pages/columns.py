"""The columns of a dataset over its last partitions: what the newest profile says, plots of the past, their tests."""

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any

import numpy as np
from django.core.paginator import Paginator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerting.selectors import broken_starts
from assay.catalog.selectors import sensitive_columns, slas
from assay.charts.ticks import Unit
from assay.models import Category, Dataset
from assay.time.windows import zone
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import compares_profiles
from execution_engine.novelty.statistics import STATISTICS, WHOLE_BATCH, Notation
from execution_engine.profiles.profile import ValueKind
from execution_engine.profiles.report import bars, usual_of
from execution_engine.runs.column_history import ColumnHistory, column_descriptions, column_history, names_of, values_of
from web.rendering.charts import ChartUnit, WindowResult, plot_of, small_chart

from .days import DataTestSummary
from .page_policy import Zoom

PAGE_SIZE = 50
DRAWN_SMALL = {  # of each column those that it has, with the words under its plot
    "complete": _("complete"),
    "distinct": _("distinct per row"),
    "mean": _("mean"),
    "length_mean": _("mean length"),
}


UNITS = {Notation.SHARE: Unit.SHARE, Notation.COUNT: Unit.COUNT}


class Unprofiled(StrEnum):
    """Why nothing is known of any partition."""

    UNREADABLE = "unreadable"  # profiles are kept, but none of them can be read
    NO_PARTITIONS = "no partitions"
    GAP = "gap"  # the test of novelty cannot be written
    NOT_WATCHED = "not watched"  # nor does its tier or metadata ask for it
    NOT_YET = "not yet"


def columns_context(
    dataset: Dataset,
    tests: Sequence[DataTestSummary],
    now: datetime,
    *,
    text: str,
    page: str,
    column: str,
    statistic: str,
    zoom: Zoom,
) -> dict[str, Any]:
    """What the page shows of the columns whose names have the text; the declared ones first, in their order.

    ``column`` and ``statistic`` are drawn large; an assertion may write a column in another case. ``unknown`` is a
    column that is not there, ``last`` the last profiled window, ``gap`` why its partitions cannot be profiled.
    """
    history = column_history(dataset, now)
    profiles, hidden = column_descriptions(dataset, history), sensitive_columns(dataset)
    names = names_of(dataset, history, (name for test in tests for name in test.columns))
    broken = broken_starts([live.test.pk for live in tests if _compares_profiles(live)], history.windows)
    marked = [window in broken for window in history.windows]
    folded = [(test, {name.casefold() for name in test.columns}) for test in tests]

    def row(name: str) -> dict[str, Any]:
        return {
            **_drawn_row(history, name, profiles.get(name, {}), marked),
            "tests": [test for test, columns_of_test in folded if name.casefold() in columns_of_test],
            "sensitive": name.casefold() in hidden,
        }

    column_page = Paginator([name for name in names if text.casefold() in name.casefold()], PAGE_SIZE).get_page(page)
    alike = [name for name in names if name.casefold() == column.casefold()]
    chosen = column if column in alike else next(iter(alike), None)
    gap = dataset.gaps.filter(category=Category.NOVELTY, template="", closed_at=None).first()
    local = zone(dataset.time_zone)
    last = f"{history.windows[-1].astimezone(local):%Y-%m-%d %H:%M}" if history.windows else ""
    return {
        "page": column_page,
        "columns": [row(name) for name in column_page],
        "rows": _drawn(history, WHOLE_BATCH, "rows", marked),
        "windows": len(history.windows),
        "last": last.removesuffix(" 00:00"),
        "chosen": None
        if chosen is None
        else _chosen(history, row(chosen), statistic, marked, local=zone(dataset.time_zone), zoom=zoom),
        "unknown": column if chosen is None else "",
        "is_past_lost": history.is_past_lost,  # only the newest partitions are drawn
        "unprofiled": None if history.windows else _unprofiled(dataset, tests, history, has_gap=gap is not None),
        "gap": gap.reason if gap else "",
    }


def _drawn_row(history: ColumnHistory, name: str, profile: Mapping[str, Any], marked: Sequence[bool]) -> dict[str, Any]:
    return {
        "name": name,
        "told": profile,
        "usual": usual_of(profile),  # where most numbers, times or lengths lie
        "drawn": list(filter(None, (_drawn(history, name, small, marked) for small in DRAWN_SMALL))),
    }


def _unprofiled(
    dataset: Dataset, tests: Sequence[DataTestSummary], history: ColumnHistory, *, has_gap: bool
) -> Unprofiled:
    if history.unreadable:
        return Unprofiled.UNREADABLE
    if not dataset.partition_column:
        return Unprofiled.NO_PARTITIONS
    if any(map(_compares_profiles, tests)):
        return Unprofiled.NOT_YET
    if has_gap:
        return Unprofiled.GAP
    return Unprofiled.NOT_YET if slas(dataset).novelty else Unprofiled.NOT_WATCHED


def _compares_profiles(live: DataTestSummary) -> bool:
    return live.test.revision is not None and compares_profiles(from_json(live.test.revision.tree))


def _drawn(history: ColumnHistory, name: str, statistic: str, marked: Sequence[bool]) -> dict[str, Any] | None:
    """One statistic over time, and its ``last`` value in words; the title of its chart names its column."""
    values = values_of(history, name, statistic)
    figures = [value for value in values if value is not None]
    if not figures:
        return None
    meaning, newest = STATISTICS[statistic], figures[-1]
    words = gettext(meaning.words)
    short = str(DRAWN_SMALL.get(statistic, words))
    if statistic == "mean" and history.kinds.get(name) is ValueKind.TIME:
        words, short = gettext("mean, from the start of the partition"), gettext("mean, since its start")
        last = f"{newest / 3600:,.1f}\u00a0h"
    elif meaning.notation is Notation.SHARE:
        last = "100\u00a0%" if newest >= 1 else f"{min(newest, 0.9999) * 100:.3g}\u00a0%"
    else:
        last = f"{newest:,.0f}" if meaning.notation is Notation.COUNT or abs(newest) >= 1000 else f"{newest:.4g}"
    title = gettext("Rows of each partition, oldest first") if name == WHOLE_BATCH else _of_column(words, name)
    plot = small_chart(values, marked, title=title, unit=UNITS.get(meaning.notation, Unit.NUMBER))
    return {"short": short, "last": last, "plot": plot}


def _of_column(words: str, name: str) -> str:
    return gettext("%(statistic)s of %(column)s") % {"statistic": words, "column": name}


def _chosen(
    history: ColumnHistory,
    column: dict[str, Any],
    statistic: str,
    marked: Sequence[bool],
    local: tzinfo,
    zoom: Zoom,
) -> dict[str, Any]:
    """The column that is drawn large: its statistics (name and words), the one that is drawn, and its histogram.

    In its chart nine of ten accepted partitions lay between the bounds.
    """
    name, chosen = column["name"], {"column": column, "bars": bars(column["told"])}
    if name not in history.figures or len(history.windows) < 2:
        return chosen | {"statistics": (), "statistic": "", "plot": None}
    keys = [key for key in STATISTICS if any(value is not None for value in values_of(history, name, key))]
    statistic = statistic if statistic in keys else next(iter(keys), "")
    values = values_of(history, name, statistic) if statistic else [None] * len(history.windows)
    accepted = [value for value, joined in zip(values, history.accepted, strict=False) if joined and value is not None]
    low, high = map(float, np.quantile(accepted, (0.05, 0.95))) if len(accepted) >= 8 else (None, None)
    results = [
        WindowResult(
            key=f"{window.astimezone(local):%Y-%m-%d %H:%M}".removesuffix(" 00:00"),
            start=window,
            value=value,
            outcome="broken" if is_marked else "held",
            was=value if is_marked else None,
            low=low,
            high=high,
        )
        for window, value, is_marked in zip(history.windows, values, marked, strict=False)
    ]
    notation = STATISTICS[statistic].notation if statistic else Notation.NUMBER
    unit = ChartUnit(unit=UNITS.get(notation, Unit.NUMBER))
    title = _of_column(gettext(STATISTICS[statistic].words), name) if statistic else name
    plot = plot_of(results, unit, title=title, zone=local, period=(zoom.start, zoom.end))
    return chosen | {
        "statistics": [(key, gettext(STATISTICS[key].words)) for key in keys],
        "statistic": statistic,
        "plot": plot,
    }
