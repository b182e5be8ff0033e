"""What to measure, apart from where and when: the identity of a metric, shared by every test that asks for it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

Literal = float | int | str | bool


def quoted(text: str) -> str:
    """``text`` as a literal of the assertion language: a quote inside is doubled, a backslash is a backslash."""
    if "'" in text and '"' not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def written_literal(value: Literal) -> str:
    """A value as the assertion language writes it."""
    return quoted(value) if isinstance(value, str) else repr(value)


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """One metric call: ``quantile(fare, 0.99, where="city = 'x'")`` is columns, arguments and a filter.

    Columns are as ``metrics.columns`` writes them: ```order id``` in its backticks, ``address.city`` a field.

    With ``by`` it is measured once for each group of rows that are alike in those columns.
    """

    name: str
    columns: tuple[str, ...] = ()
    arguments: tuple[Literal, ...] = ()
    options: tuple[tuple[str, Literal], ...] = ()
    where: str | None = None
    by: tuple[str, ...] = ()

    def option(self, name: str, default: Literal | None = None) -> Literal | None:
        """The keyword argument ``name``, or ``default``."""
        return dict(self.options).get(name, default)

    @cached_property
    def text(self) -> str:
        """The canonical call; equal specs have equal texts, so it serves as a key."""
        return f"{self.call}{self.grouping}"

    @property
    def call(self) -> str:
        """The canonical call without its groups."""
        parts = [*self.columns, *(written_literal(value) for value in self.arguments)]
        parts += [f"{name}={written_literal(value)}" for name, value in sorted(self.options)]
        parts += [] if self.where is None else [f"where={quoted(self.where)}"]
        return f"{self.name}({', '.join(parts)})"

    @property
    def grouping(self) -> str:
        """`` by city, status``, as it stands behind a call; empty without groups."""
        return f" by {', '.join(self.by)}" if self.by else ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object that ``from_json`` reads back to an equal spec."""
        return {
            "name": self.name,
            "columns": list(self.columns),
            "arguments": list(self.arguments),
            "options": dict(self.options),
            "where": self.where,
            **({"by": list(self.by)} if self.by else {}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "MetricSpec":
        """The spec that ``to_json`` wrote."""
        return cls(
            name=data["name"],
            columns=tuple(data["columns"]),
            arguments=tuple(data["arguments"]),
            options=tuple(sorted(data["options"].items())),
            where=data["where"],
            by=tuple(data.get("by", ())),
        )
