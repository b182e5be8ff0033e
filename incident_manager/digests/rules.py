"""What a digest says, from its figures; all of it is pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from alerting.channels.email_html import buttons, card, page, title

MOST_LINES = 10


@dataclass(frozen=True, kw_only=True)
class OpenIncident:
    """An incident that is open at the week's end."""

    dataset: str
    category: str
    tier: int
    owner: str
    since: datetime
    assigned_to: str = ""
    is_taken_up: bool = False
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class TierGaps:
    """A tier of the team's that has datasets; ``share`` is live / wanted, from 0 to 1, None where nothing is wanted."""

    tier: int
    live: int
    wanted: int
    share: float | None
    target: float


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A standard test that cannot be written until metadata is mended."""

    dataset: str
    category: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SlowTable:
    """A table whose slowest window of the week took this share of the time that it has; 1 is its SLA."""

    dataset: str
    took: str
    share: float


@dataclass(frozen=True, kw_only=True)
class NoisyTest:
    """A test that failed several times in the week."""

    dataset: str
    test: str
    failed: int


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A team's week ``[start, end)``; shares from 0 to 1, None where there is nothing to share."""

    team: str
    start: datetime
    end: datetime
    quality: float | None
    precision: float | None
    recall: float | None
    is_provisional: bool = False  # an incident that precision and recall count is still open
    incidents: tuple[OpenIncident, ...] = ()
    coverage: tuple[TierGaps, ...] = ()
    gaps: tuple[Gap, ...] = ()
    slowest: tuple[SlowTable, ...] = ()
    noisy: tuple[NoisyTest, ...] = ()
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading, its lines, and what to say where there is none."""

    heading: str
    lines: tuple[str, ...]
    empty: str


def subject(figures: Figures) -> str:
    """The title, with what matters first."""
    count = len(figures.incidents)
    left = f"{count} open incident{'' if count == 1 else 's'}" if count else "nothing is open"
    return _one_line(f"The week of {figures.team}: quality {share(figures.quality)}, {left}")


def sections(figures: Figures) -> tuple[Section, ...]:
    """All parts, in the order of reading."""
    return (
        Section(
            heading="Quality",
            lines=(
                "No test has judged the data of this week."
                if figures.quality is None
                else f"Data was right in {share(figures.quality)} of the tested time.",
                f"Precision of the alarms: {share(figures.precision)}. Recall: {share(figures.recall)}."
                + (" Both are provisional: incidents are still open." if figures.is_provisional else ""),
            ),
            empty="",
        ),
        Section(
            heading="Open incidents",
            lines=_listed(_incident(each) for each in figures.incidents),
            empty="Nothing is open.",
        ),
        Section(
            heading="Coverage",
            lines=(
                *(
                    f"Tier {each.tier}: {each.live} of {each.wanted} standard tests are live ({share(each.share)}); "
                    f"the target is {share(each.target)}."
                    for each in figures.coverage
                ),
                *_listed(f"Not testable: {each.dataset}, {each.category}: {each.reason}" for each in figures.gaps),
            ),
            empty="The team has no datasets.",
        ),
        Section(
            heading="Slowest tables",
            lines=_listed(f"{each.dataset}: {each.took} ({each.share:.0%})" for each in figures.slowest),
            empty="No window was complete in this week.",
        ),
        Section(
            heading="Noisy tests",
            lines=_listed(f"{each.test} of {each.dataset} failed {each.failed} times" for each in figures.noisy),
            empty="No test failed twice.",
        ),
    )


def text(figures: Figures) -> str:
    """The digest as plain text."""
    lines = [f"{figures.start:%Y-%m-%d %H:%M} to {figures.end:%Y-%m-%d %H:%M} UTC", ""]
    for section in sections(figures):
        lines += [section.heading, *(f"- {line}" for line in section.lines or (section.empty,)), ""]
    return "\n".join([*lines, *([f"Details: {figures.url}"] if figures.url else [])]).strip() + "\n"


def share(value: float | None) -> str:
    """A share in per cent, rounded down, so that 100 % is nothing less."""
    return "unknown" if value is None else f"{int(value * 1000) / 10:g} %"


def _incident(each: OpenIncident) -> str:
    who = f"{each.assigned_to} {'works' if each.is_taken_up else 'is asked to work'} on it"
    taken = f", {who if each.assigned_to else 'nobody has taken it up'}"
    return f"[tier {each.tier}] {each.dataset}: {each.category} since {each.since:%Y-%m-%d %H:%M} UTC{taken}"


def _listed(lines: Iterable[str]) -> tuple[str, ...]:
    found = [_one_line(line) for line in lines]
    return tuple(_with_rest(found))


def _with_rest(found: Sequence[str]) -> Iterator[str]:
    yield from found[:MOST_LINES]
    if len(found) > MOST_LINES:
        yield f"and {len(found) - MOST_LINES} more"


def _one_line(text: str) -> str:
    """Without line breaks, so that no name can forge a line."""
    return " ".join(text.split())


# A digest as HTML for mail readers; what comes from data is escaped.


def html(figures: Figures) -> str:
    """The whole page."""
    when = f"{figures.start:%Y-%m-%d %H:%M} to {figures.end:%Y-%m-%d %H:%M} UTC"
    figure = (
        f'<p style="font-size:34px;font-weight:600;margin:0">{escape(share(figures.quality))}</p>'
        f'<p style="margin:0;color:#5b6875">{escape(sections(figures)[0].lines[0])}</p>'
    )
    first, *others = sections(figures)
    content = [
        card(f'{title(subject(figures))}<p style="margin:0 0 12px;color:#5b6875">{when}</p>{figure}{_lines(first, 1)}'),
        *(card(f"{_heading(each)}{_lines(each)}") for each in others),
        buttons([("Scores", figures.url)]),
    ]
    return page("".join(content))


def _heading(section: Section) -> str:
    return f'<h2 style="font-size:16px;margin:0 0 8px">{escape(section.heading)}</h2>'


def _lines(section: Section, begin: int = 0) -> str:
    shown = section.lines[begin:] or (section.empty,)
    items = "".join(f'<li style="overflow-wrap:anywhere">{escape(line)}</li>' for line in shown)
    return f'<ul style="margin:8px 0 0;padding-left:20px">{items}</ul>'
