"""The settings, and the page that tells of them."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from assay.config import Config

PAGE = Path(__file__).parents[3] / "docs" / "service.md"


def test_the_page_of_the_service_tells_of_every_setting() -> None:
    told = [line for line in PAGE.read_text().splitlines() if line.startswith("| `ASSAY_")]
    fields = Config.model_fields.items()
    assert told == [row(name, field.default, field.description or "") for name, field in fields]


def row(name: str, default: Any, description: str) -> str:
    """The line of one setting."""
    value = default.get_secret_value() if isinstance(default, SecretStr) else default
    shown = "" if value in ("", None) else f"`{value}`"
    return f"| `ASSAY_{name.upper()}` | {shown} | {description} |"
