"""A message as Slack's blocks, within its limits; all that comes from data stands where Slack reads no markup.

Limits: https://docs.slack.dev/reference/block-kit/blocks (read 2026-11).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from .base import Part

MOST_BLOCKS = 50
LONGEST_HEADER = 150
LONGEST_TEXT = 3000
LONGEST_URL = 3000
LONGEST_FALLBACK = 3000  # the text that notifications show
BLOCKS_OF_A_PART = 4

Block = dict[str, Any]


def blocks_of(parts: Sequence[Part]) -> list[Block]:
    """A header, the text and buttons for each notice; what does not fit is counted in a last line."""
    most = MOST_BLOCKS // BLOCKS_OF_A_PART
    shown = parts if len(parts) <= most else parts[: most - 1]
    found = [block for part in shown for block in _part(part)]
    if more := len(parts) - len(shown):
        found.append(_literal(f"and {more} more"))
    return found


def fallback(parts: Iterable[Part]) -> str:
    """What a notification shows: the titles, with the three characters escaped that Slack reads as markup."""
    return escaped(cut("; ".join(part.title for part in parts), LONGEST_FALLBACK // 5))


def escaped(text: str) -> str:
    """Text as Slack's markup has it: no mention, no link and no group can be written in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, most: int) -> str:
    """The text, cut where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _part(part: Part) -> list[Block]:
    header = {"type": "plain_text", "text": cut(part.title, LONGEST_HEADER) or "…", "emoji": False}
    found: list[Block] = [{"type": "header", "text": header}]
    if part.text.strip():
        found.append(_literal(part.text.strip()))
    if buttons := [
        {
            "type": "button",
            "action_id": f"open-{number}",
            "text": {"type": "plain_text", "text": name[:75], "emoji": False},
            "url": url,
        }
        for number, (name, url) in enumerate(part.links.items())
        if len(url) <= LONGEST_URL and url.startswith(("https://", "http://"))
    ]:
        found.append({"type": "actions", "elements": buttons[:25]})
    return found


def _literal(text: str) -> Block:
    """Text in which nothing is markup: in rich text a mention or a link is an element of its own kind."""
    run = {"type": "text", "text": cut(text, LONGEST_TEXT)}
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [run]}]}
