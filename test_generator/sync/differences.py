"""What a plan would change: datasets, lineage and tests that come, change and go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Sign = Literal["+", "~", "-"]
Fields = Mapping[str, str]
Picture = Mapping[tuple[str, str], Fields]  # what there is, by kind and name


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that comes, changes or goes, with its fields before and after."""

    sign: Sign
    kind: str  # dataset, lineage or test
    name: str
    fields: Mapping[str, tuple[str, str]]


def differences(before: Picture, after: Picture) -> Iterable[Difference]:
    """What differs between two pictures, by kind and name; of what comes the fields that are not empty."""
    for kind, name in sorted({*before, *after}):
        old, new = before.get((kind, name)), after.get((kind, name))
        sign: Sign = "+" if old is None else "-" if new is None else "~"
        fields = {} if new is None else _changed(old or {}, new)
        if fields or sign != "~":
            yield Difference(sign=sign, kind=kind, name=name, fields=fields)


def _changed(old: Fields, new: Fields) -> dict[str, tuple[str, str]]:
    names = dict.fromkeys([*new, *old])
    return {name: (old.get(name, ""), new.get(name, "")) for name in names if old.get(name, "") != new.get(name, "")}
