"""The columns of a dataset over its last partitions: what the newest profile says, plots of the past, their tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerting.selectors import broken_starts
from assay.catalog.selectors import sensitive_columns, slas
from assay.models import Category, Dataset
from assay.time.windows import zone
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import compares_profiles
from execution_engine.novelty.measures.batch import WHOLE_BATCH
from execution_engine.novelty.measures.statistics import STATISTICS, Shown
from execution_engine.profiles.profile import ColumnKind
from execution_engine.profiles.report import bars, usual_of
from execution_engine.runs.column_history import ColumnHistory, column_history, names_of, told_of, values_of
from web.shown.moved import SmallPlot, small_plot

from .dataset import ShownTest

PAGE_SIZE = 50
DRAWN_SMALL = {  # of each column those that it has, with the words under its plot
    "complete": _("complete"),
    "distinct": _("distinct per row"),
    "mean": _("mean"),
    "length_mean": _("mean length"),
}


class Unprofiled(StrEnum):
    """Why nothing is known of any partition."""

    UNREADABLE = "unreadable"  # profiles are kept, but none of them can be read
    NO_PARTITIONS = "no partitions"
    GAP = "gap"  # the test of novelty cannot be written
    NOT_WATCHED = "not watched"  # nor does its tier or metadata ask for it
    NOT_YET = "not yet"


@dataclass(frozen=True, kw_only=True)
class ColumnsWanted:
    """What the reader filters by, and which column and statistic are drawn large."""

    text: str = ""
    page: str = ""
    column: str = ""
    statistic: str = ""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One statistic over time, and its last value in words; ``said`` names its column."""

    said: str
    short: str
    last: str
    plot: SmallPlot | None


@dataclass(frozen=True, kw_only=True)
class ShownColumn:
    """A column: what the newest profile says of it (see ``described``), plots, and the tests that name it."""

    name: str
    told: Mapping[str, Any] = field(default_factory=dict)
    usual: str = ""  # where most numbers, times or lengths of the newest profile lie
    drawn: Sequence[Drawn] = ()
    tests: Sequence[ShownTest] = ()
    sensitive: bool = False


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The column that is drawn large: its statistics, the one that is drawn, and the bars of its histogram."""

    column: ShownColumn
    statistics: Sequence[tuple[str, str]]  # name and words
    statistic: str
    history: Mapping[str, Any]
    bars: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ShownColumns:
    """All that the page shows; ``unknown``: the column that was asked for and is not there."""

    page: Page[str]
    columns: Sequence[ShownColumn]
    rows: Drawn | None
    windows: int
    last: str  # the last profiled window, in the dataset's zone
    chosen: Chosen | None
    unknown: str
    is_past_lost: bool  # only the newest partitions are drawn
    unprofiled: Unprofiled | None
    gap: str  # why its partitions cannot be profiled


def shown_columns(dataset: Dataset, tests: Sequence[ShownTest], wanted: ColumnsWanted, now: datetime) -> ShownColumns:
    """The page of columns whose names have the text; the declared ones first, in their order."""
    found = column_history(dataset, now)
    told_by_name, hidden = told_of(dataset, found), sensitive_columns(dataset)
    names = names_of(dataset, found, (name for test in tests for name in test.columns))
    by_column = _tests_by_column(tests)
    broken = broken_starts([live.test.pk for live in tests if _compares_profiles(live)], found.windows)
    marked = [window in broken for window in found.windows]

    def column(name: str) -> ShownColumn:
        told = told_by_name.get(name, {})
        drawn = [_drawn(found, name, each, marked) for each in DRAWN_SMALL]
        return ShownColumn(
            name=name,
            told=told,
            usual=usual_of(told),
            drawn=[each for each in drawn if each is not None],
            tests=by_column.get(name.casefold(), ()),
            sensitive=name.casefold() in hidden,
        )

    page = Paginator([name for name in names if wanted.text.casefold() in name.casefold()], PAGE_SIZE)
    shown = page.get_page(wanted.page)
    chosen = next((name for name in sorted(names, key=wanted.column.__ne__) if _is_same(name, wanted.column)), None)
    gap = dataset.gaps.filter(category=Category.NOVELTY, template="", closed_at=None).first()
    return ShownColumns(
        page=shown,
        columns=[column(name) for name in shown],
        rows=_drawn(found, WHOLE_BATCH, "rows", marked),
        windows=len(found.windows),
        last=_key(dataset, found.windows[-1]) if found.windows else "",
        chosen=None if chosen is None else _chosen(found, column(chosen), wanted.statistic, marked),
        unknown=wanted.column if chosen is None else "",
        is_past_lost=found.is_past_lost,
        unprofiled=None if found.windows else _unprofiled(dataset, tests, found, has_gap=gap is not None),
        gap=gap.reason if gap else "",
    )


def _is_same(name: str, asked: str) -> bool:
    """Whether a column is the one that was asked for, as an assertion may write it in another case."""
    return name.casefold() == asked.casefold()


def _unprofiled(dataset: Dataset, tests: Sequence[ShownTest], found: ColumnHistory, *, has_gap: bool) -> Unprofiled:
    if found.unreadable:
        return Unprofiled.UNREADABLE
    if not dataset.partition_column:
        return Unprofiled.NO_PARTITIONS
    if any(map(_compares_profiles, tests)):
        return Unprofiled.NOT_YET
    if has_gap:
        return Unprofiled.GAP
    return Unprofiled.NOT_YET if slas(dataset).novelty else Unprofiled.NOT_WATCHED


def _tests_by_column(tests: Sequence[ShownTest]) -> dict[str, list[ShownTest]]:
    """The tests that name a column, by its name without regard to case; those of whole profiles name none."""
    found: dict[str, list[ShownTest]] = {}
    for test in tests:
        for column in dict.fromkeys(name.casefold() for name in test.columns):
            found.setdefault(column, []).append(test)
    return found


def _compares_profiles(live: ShownTest) -> bool:
    return live.test.revision is not None and compares_profiles(from_json(live.test.revision.tree))


def _drawn(found: ColumnHistory, name: str, statistic: str, marked: Sequence[bool]) -> Drawn | None:
    values = values_of(found, name, statistic)
    known = [value for value in values if value is not None]
    if not known:
        return None
    told = STATISTICS[statistic]
    if statistic == "mean" and found.kinds.get(name) is ColumnKind.TIME:
        short, words, last = (
            gettext("mean, since its start"),
            gettext("mean, from the start of the partition"),
            f"{known[-1] / 3600:,.1f}\u00a0h",
        )
    else:
        words, last = gettext(told.words), _figure(known[-1], told.shown)
        short = str(DRAWN_SMALL.get(statistic, words))
    return Drawn(said=of_column(words, name), short=short, last=last, plot=small_plot(values, marked))


def of_column(words: str, name: str) -> str:
    """A statistic and its column."""
    return gettext("%(statistic)s of %(column)s") % {"statistic": words, "column": name}


def _figure(value: float, shown: Shown) -> str:
    if shown is Shown.SHARE:
        return "100\u00a0%" if value >= 1 else f"{min(value, 0.9999) * 100:.3g}\u00a0%"
    return f"{value:,.0f}" if shown is Shown.COUNT or abs(value) >= 1000 else f"{value:.4g}"


def _chosen(found: ColumnHistory, column: ShownColumn, wanted: str, marked: Sequence[bool]) -> Chosen:
    """With the data of its plot as the plot of a test's results takes it: nine of ten lay from ``low`` to ``high``."""
    if column.name not in found.shown or len(found.windows) < 2:
        return Chosen(column=column, statistics=(), statistic="", history={}, bars=bars(column.told))
    known = [name for name in STATISTICS if any(value is not None for value in values_of(found, column.name, name))]
    statistic = wanted if wanted in known else (known[0] if known else "")
    values = values_of(found, column.name, statistic) if statistic else []
    accepted = sorted(
        value for value, joined in zip(values, found.accepted, strict=False) if joined and value is not None
    )
    low, high = (_quantile(accepted, share) if len(accepted) >= 8 else None for share in (0.05, 0.95))
    return Chosen(
        column=column,
        statistics=[(name, gettext(STATISTICS[name].words)) for name in known],
        statistic=statistic,
        history={
            "test": of_column(gettext(STATISTICS[statistic].words), column.name) if statistic else "",
            "duration": False,
            "share": bool(statistic) and STATISTICS[statistic].shown is Shown.SHARE,
            "start": [int(window.timestamp()) for window in found.windows],
            "value": values,
            "was": [value if is_marked else None for value, is_marked in zip(values, marked, strict=False)],
            "outcome": ["broken" if is_marked else "held" for is_marked in marked],
            "low": [low] * len(values),
            "high": [high] * len(values),
        },
        bars=bars(column.told),
    )


def _quantile(values: Sequence[float], share: float) -> float:
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def _key(dataset: Dataset, window: datetime) -> str:
    return f"{window.astimezone(zone(dataset.time_zone)):%Y-%m-%d %H:%M}".removesuffix(" 00:00")
