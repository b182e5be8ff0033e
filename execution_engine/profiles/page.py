"""A described profile as one page of HTML that needs no other file and no script (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .lines import short
from .report import bars

MOST_VALUES = 6
STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #4a6fd8; --soft: #8881; --odd: #b4540a; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } .facts { color: #777; margin-top: .2rem; }
section { border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: 1rem 0; display: grid;
  grid-template-columns: 16rem 1fr 1fr; gap: .5rem 2rem; }
h2 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; } h2 small { color: #777; font-weight: normal; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0 .8rem; margin: 0; } dt { color: #777; }
dd { margin: 0; overflow-wrap: anywhere; }
.odd { color: var(--odd); margin: .2rem 0; grid-column: 1 / -1; }
svg { width: 100%; height: 5rem; background: var(--soft); border-radius: 4px; } rect { fill: var(--bar); }
table { border-collapse: collapse; width: 100%; } td { padding: 0 .4rem 0 0; overflow-wrap: anywhere; }
td:last-child { text-align: right; white-space: nowrap; color: #777; }
@media (max-width: 50rem) { section { grid-template-columns: 1fr; } }
"""


def page_of(name: str, told: Mapping[str, Any]) -> str:
    """The page of what ``described`` tells of a profile; whatever the data says stands there as text."""
    columns = told["columns"]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(name)}</title>\n<style>{STYLE}</style>",
            f'<h1>{_text(name)}</h1>\n<p class="facts">{told["rows"]} rows, {len(columns)} columns</p>',
            *map(_section, columns),
            "</html>\n",
        ]
    )


def _section(column: Mapping[str, Any]) -> str:
    title = f"<h2>{_text(column['name'])} <small>{_text(column['type'])}</small></h2>"
    facts = "".join(f"<dt>{name}</dt><dd>{_text(said)}</dd>" for name, said in _facts(column))
    values = [(_text(each["value"]), each["count"]) for each in column["values"][:MOST_VALUES]]
    odd = [f'<p class="odd">{_text(lint["name"])}: {_text(lint["said"])}</p>' for lint in column["lints"]]
    parts = [f"{title}<dl>{facts}</dl>", _plot(column) or _shapes(column), _table(values)]
    return "\n".join(["<section>", *(f"<div>{part}</div>" for part in parts), *odd, "</section>"])


def _facts(column: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    numbers, texts = column.get("numbers", {}), column.get("texts", {})
    yield "missing", column["nulls"]
    about, key = "" if column["distinct_is_exact"] else "about ", " (may be a key)" if column["may_be_key"] else ""
    yield "different", f"{about}{column['distinct']}{key}"
    if numbers.get("min") is not None:
        yield from (("lowest", numbers["min"]), ("mean", short(numbers["mean"])), ("highest", numbers["max"]))
    yield from ((word, numbers[name]) for name, word in (("nan", "NaN"), ("infinite", "infinite")) if numbers.get(name))
    if texts.get("longest") is not None:
        yield "characters", f"{texts['shortest']} to {texts['longest']}"


def _plot(column: Mapping[str, Any]) -> str:
    found = bars(column)
    if not found:
        return ""
    rects = "".join(
        f'<rect x="{place}.05" width=".9" y="{bar["top"]}" height="{bar["height"]}">'
        f"<title>{_text(bar['low'])} to {_text(bar['high'])}: {bar['said']}</title></rect>"
        for place, bar in enumerate(found)
    )
    said = f"How often numbers of {column['name']} lie where, from the lowest to the highest"
    box = f'viewBox="0 0 {len(found)} 1" preserveAspectRatio="none"'
    return f'<svg {box} role="img" aria-label="{_text(said)}">{rects}</svg>'


def _shapes(column: Mapping[str, Any]) -> str:
    shapes = column.get("texts", {}).get("shapes", [])
    return _table([(f"<code>{_text(each['shape'])}</code>", each["count"]) for each in shapes])


def _table(rows: Sequence[tuple[str, int]]) -> str:
    cells = "".join(f"<tr><td>{shown}</td><td>{count}</td></tr>" for shown, count in rows)
    return f"<table>{cells}</table>" if cells else ""


def _text(value: Any) -> str:
    return escape(str(value))
