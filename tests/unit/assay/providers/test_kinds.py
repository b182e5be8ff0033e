"""The kinds of providers, as the documentation lists them."""

import re
from importlib import import_module
from pathlib import Path

from assay.catalog.providers import places
from execution_engine.providers import KINDS

PAGE = Path(__file__).parents[4] / "docs" / "catalog.md"


def test_each_kind_and_each_key_of_its_entry_is_documented() -> None:
    page = PAGE.read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| ", page, re.M))
    for kind, read in KINDS.items():
        for key, is_required in import_module(read.__module__).KEYS.items():
            text = f"**`{key}`**" if is_required else f"`{key}`"
            assert text in rows[kind] or key in places.KEYS, (kind, key)
