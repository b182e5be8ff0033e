"""A digest as HTML for mail readers; what comes from data is escaped."""

from html import escape

from alerting.channels.email_html import buttons, card, page, title

from .rules import Figures, Section, sections, share, subject


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
