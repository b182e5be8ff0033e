"""How templates show states, instants, lengths and shares.

A template hands over ``''`` where a path ends at None (``standing.value`` of no standing): every filter takes that for
None, which is shown as a dash.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from types import NoneType
from typing import Any, Literal

from django import template
from django.core.paginator import Page
from django.templatetags.static import static
from django.utils.html import conditional_escape, escape, format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext, ngettext

from alerting.titles import title_of
from assay.charts.ticks import Unit, length_text, value_text
from assay.models import Category, DataTest, Origin
from incident_manager.gate.rules import Because
from incident_manager.quality.rules import AnswerReason
from web.rendering.headline import in_words
from web.rendering.status import LOOKS, MEANINGS, TEXTS, WORDS, DisplayStatus, Stretch, in_english, plain

register = template.Library()


Absent = Literal[""] | None

NOTHING = "–"
INSTANT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC")
SEPARATOR = re.compile(r"[._/:-]+")


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """An icon of the sprite; decorative, so hidden from screen readers."""
    return format_html(
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>',
        static("web/icons.svg"),
        name,
    )


@register.filter
def of(parts: Mapping[Any, Any] | str | None, key: Any) -> Any:
    """What belongs to a row, by its id."""
    return parts.get(key, "") if isinstance(parts, Mapping) else ""


@register.filter
def breaks(name: str) -> SafeString:
    """A name that may be broken after its dots, underscores, hyphens and slashes, and nowhere else."""
    return SafeString(SEPARATOR.sub(r"\g<0><wbr>", escape(name)))


@register.filter
def as_code(text: str) -> SafeString:
    """A text in which what stands between backticks is code."""
    parts = text.split("`")
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if n % 2 else part,) for n, part in enumerate(parts))
    )


@register.filter
def numbers(rows: Page[Any] | Mapping[str, Any]) -> list[int | str]:
    """The numbers of the pages that one may turn to, without those far off; of a list that nobody counts its own."""
    if isinstance(rows, Mapping):
        return [rows["number"]]
    return list(rows.paginator.get_elided_page_range(rows.number, on_each_side=2, on_ends=1))


@register.filter
def titled(data_test: DataTest) -> str:
    """How people call a test: one of Assay's own in plain words, any other by its name."""
    is_standard = data_test.origin == Origin.GENERATED and not data_test.template
    return title_of(data_test.name) if is_standard else data_test.name


@register.simple_tag
def pill(status: DisplayStatus, text: str = "") -> SafeString:
    """A status as icon and word; ``text`` replaces the word."""
    return _pill(status, text, get_language())


@lru_cache(1000)
def _pill(status: DisplayStatus, text: str, language: str) -> SafeString:
    return format_html(
        '<span class="pill {}" title="{}">{}{}</span>',
        (look := _look(status)),
        MEANINGS[DisplayStatus(status)],
        icon(look),
        text or WORDS[DisplayStatus(status)],
    )


@register.simple_tag
def dot(status: DisplayStatus) -> SafeString:
    """A status as its icon alone, with the word for screen readers."""
    return _dot(status, get_language())


@cache
def _dot(status: DisplayStatus, language: str) -> SafeString:
    return format_html(
        '<span class="dot {}">{}<span class="sr-only">{}</span></span>',
        _look(status),
        icon(_look(status)),
        WORDS[status],
    )


@register.simple_tag
def strip(stretches: Sequence[Stretch]) -> SafeString:
    """The last 28 partitions as bars, of which each says which it stands for, and why; the style has their heights."""
    counts = Counter[DisplayStatus]()
    for stretch in stretches:
        counts[stretch.status] += stretch.count
    bars = format_html_join(
        "",
        '<rect class="{}" x="{}" width="{}"><title>{}</title></rect>',
        ((_look(stretch.status), stretch.at, stretch.count, stretch.title) for stretch in stretches),
    )
    text = ", ".join(f"{count} {str(WORDS[status]).lower()}" for status, count in counts.items())
    return format_html(
        '<svg class="strip" viewBox="0 0 28 10" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        gettext("last %(count)s partitions: %(states)s") % {"count": sum(counts.values()), "states": text},
        bars,
    )


@register.simple_tag
def sign(category: str, status: DisplayStatus) -> SafeString:
    """How a category stands, small: its icon and the name of the category; the word of the status in its title."""
    word = f"{plain(category)}: {WORDS[status]}"
    return format_html(
        '<span class="sign {}" title="{}">{}{}</span>', _look(status), word, icon(_look(status)), plain(category)
    )


def _look(status: DisplayStatus) -> str:
    return LOOKS.get(DisplayStatus(status), status)


@register.filter
def when(instant: datetime | Absent) -> SafeString | str:
    """An instant in UTC, which ``times.js`` writes in the reader's zone."""
    if not instant:
        return NOTHING
    text = f"{instant:%Y-%m-%d %H:%M} UTC"
    return format_html('<time datetime="{}" data-local title="{}">{}</time>', instant.isoformat(), text, text)


@register.filter
def local_times(text: str) -> SafeString:
    """A text in which ``times.js`` writes each instant in the reader's zone."""
    return SafeString(
        INSTANT.sub(r'<time datetime="\1T\2Z" data-local title="\g<0>">\g<0></time>', conditional_escape(text))
    )


@register.filter
def relative_time(instant: datetime | Absent, now: datetime) -> SafeString | str:
    """How long ago an instant was, or is to come; pointed at, it says when in UTC, and in the reader's zone."""
    if not instant:
        return NOTHING
    length = roughly(abs(now - instant))
    text = gettext("in %(length)s") if instant > now else gettext("%(length)s ago")
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        instant.isoformat(),
        instant.strftime("%Y-%m-%d %H:%M"),
        text % {"length": length},
    )


@register.filter
def since(instant: datetime | Absent, now: datetime) -> str:
    """How long ago an instant was, in its largest whole unit."""
    return roughly(max(now - instant, timedelta(0))) if instant else NOTHING


@register.filter
def roughly(length: timedelta | Absent) -> str:
    """A length in its largest whole unit: ``3 h``."""
    if isinstance(length, NoneType | str):
        return NOTHING
    seconds = int(length.total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return gettext("under 1 min")


@register.filter
def after(value: timedelta | Absent) -> str:
    """A period that something waits: ``4 h``."""
    if isinstance(value, NoneType | str):
        return NOTHING
    return length_text(value.total_seconds()) if value else gettext("at once")


register.filter("plain", plain)
register.filter("in_english", in_english)


@register.filter
def valued(value: str) -> SafeString | str:
    """The attribute of an option that is shown in other words than it is sent."""
    return "" if plain(value) == value else format_html(' value="{}"', value)


@register.filter
def reason(answer_reason: Because | AnswerReason) -> SafeString | str:
    """A reason of an answer, as a sentence that begins one."""
    return (
        capfirst(sentence) if (sentence := in_words(answer_reason.text)) else in_english(capfirst(answer_reason.text))
    )


@register.filter
def in_partitions(span: int, granularity: str) -> str:
    """The last so many partitions, in words."""
    if span == 1:
        return {
            "hour": gettext("the last hour"),
            "day": gettext("yesterday"),
            "week": gettext("the last week"),
            "month": gettext("the last month"),
        }[granularity]
    return {
        "hour": ngettext("%(count)s hour", "%(count)s hours", span),
        "day": ngettext("%(count)s day", "%(count)s days", span),
        "week": ngettext("%(count)s week", "%(count)s weeks", span),
        "month": ngettext("%(count)s month", "%(count)s months", span),
    }[granularity] % {"count": span}


@register.simple_tag
def script_texts() -> SafeString:
    """The texts of the scripts, for ``texts.js``."""
    return json_script(TEXTS, "texts")


@register.filter
def took(value: float) -> str:
    """How many seconds something took, to a tenth; what is less is said to be."""
    return gettext("under 0.1") if value < 0.1 else f"{value:.1f}"


@register.filter
def percent(share: float | Absent) -> str:
    """A share to a tenth of a percent, never rounded up to 100 %."""
    if isinstance(share, NoneType | str):
        return NOTHING
    return "100 %" if share >= 1 else f"{min(share, 0.999) * 100:.1f} %"


@register.simple_tag
def so_far(value: timedelta | float | Absent, is_open: bool) -> str | SafeString:
    """A share or a length; marked where an incident that it counts is still open, and nobody knows how it ends."""
    text = roughly(value) if isinstance(value, timedelta) else percent(value)
    if not is_open or isinstance(value, NoneType | str):
        return text
    why = gettext("an incident is still open: if it turns out to be a false alarm, the figure changes")
    if isinstance(value, timedelta):
        why = gettext("an incident is still open, and counts up to now")
    return format_html('<span class="so-far" title="{}">{} <small>{}</small></span>', why, text, gettext("so far"))


@register.filter
def quality(share: float | Absent) -> str:
    """A data-level quality; of what was never tested there is none."""
    return gettext("not tested") if isinstance(share, NoneType | str) else percent(share)


@register.filter
def measured(value: float | Absent, category: str) -> str:
    """A test's value: of freshness a length of time, else a figure."""
    if category == Category.FRESHNESS and value:
        return roughly(timedelta(seconds=value))
    return figure(value)


@register.filter
def figure(value: float | Absent) -> str:
    """A value to six significant digits, whole numbers in full."""
    return NOTHING if isinstance(value, str) else value_text(value, Unit.NUMBER)
