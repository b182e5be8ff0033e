"""The golden files beside this one: attacks by their class, honest queries and conditions, and answers."""

import re
from pathlib import Path

HERE = Path(__file__).parent
TABLES = ("trips", "zones", "raw.trips")
COLUMNS = ("trip_id", "city", "fare", "riders", "started", "day", "tags", "place", "extra", "note", "odd name", "user")


def payloads() -> dict[str, list[str]]:
    """The attacks, by their class."""
    found: dict[str, list[str]] = {}
    for line in (HERE / "payloads.txt").read_text().splitlines()[1:]:
        if line.startswith("["):
            found[line.strip("[]")] = here = []
        elif line:
            here.append(_written_out(line))
    return found


def queries() -> list[str]:
    """The honest queries; a blank line stands between two."""
    return (HERE / "queries.sql").read_text().strip().split("\n\n")


def conditions() -> list[str]:
    """The honest conditions, one a line."""
    return (HERE / "conditions.sql").read_text().strip().splitlines()


def answers() -> list[tuple[str, str]]:
    """Texts, and what the guard says of each; a blank line stands between two."""
    _, *blocks = (HERE / "answers.txt").read_text().strip().split("\n\n")
    pairs = [block.split("\n  ") for block in blocks]
    return [(_written_out(text), _written_out(said)) for text, said in pairs]


def _written_out(line: str) -> str:
    line = re.sub("«U\\+([0-9A-F]+)»", lambda found: chr(int(found.group(1), 16)), line)
    return re.sub("«([^»]+)×(\\d+)»", lambda found: found.group(1) * int(found.group(2)), line)
