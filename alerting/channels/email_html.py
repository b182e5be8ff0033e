"""A message as HTML for mail readers: no scripts, no pictures from elsewhere, styles on each element."""

from collections.abc import Iterable, Sequence
from html import escape

from .base import NoticePart

FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"
INK, QUIET, LINE, PAPER = "#1c2733", "#5b6875", "#d8dee4", "#f5f7f9"
MOST_PARTS = 20
COLOURS = {
    "opened": "#b42318",
    "assigned": "#b42318",
    "downstream": "#b54708",
    "updated": "#b54708",
    "recovered": "#067647",
}


def page_of(parts: Sequence[NoticePart]) -> str:
    """The whole page; all that comes from data is escaped."""
    more = f"<p>and {len(parts) - MOST_PARTS} more</p>" if len(parts) > MOST_PARTS else ""
    cards = (
        card(
            f"{title(part.title)}{_body(part.text)}{buttons(part.links.items())}",
            colour=COLOURS.get(str(part.facts.get("event")), QUIET),
        )
        for part in parts[:MOST_PARTS]
    )
    return page("".join(cards) + more)


def page(content: str) -> str:
    """A page with this content, which is HTML already."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>Assay</title></head>'
        f'<body style="margin:0;background:{PAPER};color:{INK};{FONT};font-size:15px;line-height:1.45">'
        f'<div style="max-width:640px;margin:0 auto;padding:16px">{content}</div></body></html>'
    )


def card(content: str, *, colour: str = QUIET) -> str:
    """A box with a coloured edge around content that is HTML already."""
    style = f"background:#fff;border:1px solid {LINE};border-left:4px solid {colour};padding:16px;margin:0 0 16px"
    return f'<div style="{style}">{content}</div>'


def title(text: str) -> str:
    """A heading, escaped; a long name breaks anywhere."""
    return f'<h1 style="font-size:18px;margin:0 0 8px;overflow-wrap:anywhere">{escape(text)}</h1>'


def buttons(links: Iterable[tuple[str, str]]) -> str:
    """Links that look like buttons, for addresses that a browser opens."""
    style = f"display:inline-block;margin:8px 8px 0 0;padding:6px 12px;border:1px solid {LINE};color:{INK}"
    anchors = [
        f'<a style="{style};text-decoration:none" href="{escape(url)}">{escape(name)}</a>'
        for name, url in links
        if url.startswith(("https://", "http://"))
    ]
    return "".join(anchors)


def _body(text: str) -> str:
    """Paragraphs, and lists of the lines that begin with a dash."""
    pieces: list[str] = []
    is_list = False
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("- ") != is_list:
            pieces.append("</ul>" if is_list else '<ul style="margin:0 0 8px;padding-left:20px">')
            is_list = not is_list
        if is_list:
            pieces.append(f'<li style="overflow-wrap:anywhere">{escape(line[2:])}</li>')
        else:
            pieces.append(f'<p style="margin:0 0 8px;overflow-wrap:anywhere">{escape(line)}</p>')
    return "".join([*pieces, "</ul>" if is_list else ""])
