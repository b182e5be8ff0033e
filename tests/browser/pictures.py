"""Pictures of pages, into the folder that PICTURES names, for somebody who looks at them: ``make pictures``."""

import os
from pathlib import Path

from playwright.sync_api import Page

NARROW, WIDE = 360, 1440


def take(page: Page, name: str) -> None:
    """The page that is open, narrow and wide, light and dark; nothing where nobody wants pictures."""
    if "PICTURES" not in os.environ:
        return
    folder = Path(os.environ["PICTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
