"""A badge: the name of something and its status in words and colour, as an SVG that needs nothing else (pure)."""

from html import escape

from incident_manager.quality.rules import Status

LABEL = "data quality"
# dark enough for white letters by WCAG AA
COLOURS = {
    Status.BAD: "#b3211a",
    Status.UNKNOWN: "#6b3aa6",
    Status.REPORTED: "#8a5600",
    Status.UNTESTED: "#5d6570",
    Status.GOOD: "#17764a",
}
LETTER, ROOM, HEIGHT = 6, 8, 20  # pixels: of a letter, beside a word, of the badge


def badge(name: str, status: Status) -> str:
    """The SVG; who cannot see it is told the name and the status."""
    left, right = (LETTER * len(word) + 2 * ROOM for word in (LABEL, status))
    title = escape(f"{name}: {LABEL} is {status} (all partitions in all datacenters)")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="{HEIGHT}" fill="#3b4048"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{COLOURS[status]}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_word(LABEL, left / 2)}{_word(status, left + right / 2)}</g></svg>"
    )


def _word(word: str, middle: float) -> str:
    return f'<text x="{middle:g}" y="14" textLength="{LETTER * len(word) - 2}">{escape(word)}</text>'
