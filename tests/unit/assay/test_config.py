"""The settings, and the page that tells of them."""

import json
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from assay.config import Config

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "service.md"
CHART = ROOT / "deploy" / "helm" / "assay"


def test_the_page_of_the_service_tells_of_every_setting() -> None:
    told = [line for line in PAGE.read_text().splitlines() if line.startswith("| `ASSAY_")]
    fields = Config.model_fields.items()
    assert told == [row(name, field.default, field.description or "") for name, field in fields]


def test_the_chart_takes_every_setting_that_is_no_secret_and_no_place_of_its_own() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    names = {f"ASSAY_{name.upper()}" for name in Config.model_fields}
    own = {name for name in names if f'"{name.lower()}"' in templates or f"name: {name}," in templates}
    assert set(schema["properties"]["settings"]["propertyNames"]["enum"]) == names - own


def row(name: str, default: Any, description: str) -> str:
    """The line of one setting."""
    value = default.get_secret_value() if isinstance(default, SecretStr) else default
    shown = "" if value in ("", None) else f"`{value}`"
    return f"| `ASSAY_{name.upper()}` | {shown} | {description} |"
