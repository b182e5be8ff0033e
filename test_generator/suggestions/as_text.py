"""Suggestions as text: for JSON, and ready for catalog files, for files of checks and for Python (pure)."""

from collections.abc import Collection, Sequence
from typing import Any

import yaml

from .suggest import Suggestion

WIDTH = 110


def as_json(one: Suggestion, dataset: str | None) -> dict[str, Any]:
    """All that is known of it, with its texts; of files where ``dataset`` is None."""
    return {
        "rule": one.rule,
        "columns": list(one.columns),
        "assertion": one.assertion,
        "why": one.why,
        "fitted": one.fitted,
        "held": one.held,
        "tried": one.tried,
        "held_share": one.held_share,
        "cost": one.cost,
        "python": as_python(one),
        "yaml": as_yaml([one], dataset),
    }


def as_python(one: Suggestion) -> str:
    """What the verification API says of it."""
    return f"Check().holds({one.assertion!r})"


def as_yaml(some: Sequence[Suggestion], dataset: str | None) -> str:
    """Soft tests of a dataset for a catalog file; or, of files, what ``assay verify --checks`` reads."""
    if dataset is None:
        return yaml.safe_dump({"checks": [one.assertion for one in some]}, sort_keys=False, width=WIDTH)
    names: list[str] = []
    for one in some:
        names.append(free_name(one.name, names))
    tests = [
        {
            "dataset": dataset,
            "name": name,
            "assertion": one.assertion,
            "category": one.category,
            "severity": "soft",
        }
        for one, name in zip(some, names, strict=True)
    ]
    return yaml.safe_dump({"tests": tests}, sort_keys=False, width=WIDTH)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number behind it where it is taken, in whatever case."""
    keys, free, number = {each.casefold() for each in taken}, name, 1
    while free.casefold() in keys:
        number += 1
        free = f"{name}-{number}"
    return free
