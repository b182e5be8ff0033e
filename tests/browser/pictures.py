"""Pictures of pages, into the folder that PICTURES names, for somebody who looks at them: ``make pictures``."""

import os
from pathlib import Path

from playwright.sync_api import Page

SCREENS = ((360, 640), (768, 1024), (1440, 900), (1920, 1080))
NARROW = SCREENS[0][0]


def take(page: Page, name: str) -> None:
    """The open page on each screen, light and dark, as one sees it first and whole; nothing without PICTURES."""
    if "PICTURES" not in os.environ:
        return
    folder = Path(os.environ["PICTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
            page.screenshot(path=folder / f"{name}-{width}-{scheme}-whole.png", full_page=True)
