"""Merge keys and aliases of YAML cost no more than what stands in the file."""

import tracemalloc
from contextlib import suppress

import pytest

from assay.catalog.yaml.yaml_text import UnableToParseYaml, parse_yaml

ITEM = "{k: 1}"


def nested(width: int, depth: int, *, merges: bool = True) -> str:
    """Mappings that each take the one before, so many times over."""
    lines = [f"a0: &a0 {ITEM if merges else '[x]'}"]
    for level in range(1, depth + 1):
        names = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} " + (f"{{<<: [{names}]}}" if merges else f"[{names}]"))
    return "\n".join(lines)


def cost(text: str) -> int:
    """The bytes that reading takes; what is refused has its cost too."""
    tracemalloc.start()
    with suppress(UnableToParseYaml):
        parse_yaml(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize(
    "text",
    [
        nested(9, 8),
        nested(9, 60),
        nested(2, 200),
        nested(100, 5),
        nested(9, 8, merges=False),
        nested(9, 60, merges=False),
        nested(1, 150),
        "a: &a {<<: *a}",
        "a: &a {b: &b {<<: *a}, <<: *b}",
        "a: &a [&b {<<: [*b, *b]}]",
        "a0: &a0 {k: 1}\na1: {<<: [" + ", ".join(["*a0"] * 5_000) + "]}",
    ],
)
def test_a_small_file_costs_little(text: str) -> None:
    assert cost(text) < 20_000_000


def test_many_merges_are_refused_with_their_place() -> None:
    with pytest.raises(UnableToParseYaml, match="copy more than 1000 keys") as refused:
        parse_yaml(nested(9, 8))
    assert refused.value.line > 1


def test_merges_that_people_write_are_read() -> None:
    text = "base: &base {owner: ada, tier: 3}\nt: {<<: *base, tier: 2}\nu: {<<: [*base, {team: x}]}"
    assert parse_yaml(text).content["t"] == {"owner": "ada", "tier": 2}
    assert parse_yaml(text).content["u"] == {"owner": "ada", "tier": 3, "team": "x"}
