"""``make screenshot``: the three pages that people live on, of the demo, light and dark, to ``docs/pictures``."""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from deploy.local.programs import free_port
from tests.servers import CHROMIUM_ARGUMENTS, chromium, running

ROOT = Path(__file__).parents[2]
DEMO = ROOT / ".assay" / "demo"
PICTURES = ROOT / "docs" / "pictures"
NAME, PASSWORD = "ana@example.com", "a password for one picture"
SIZE = {"width": 1360, "height": 900}


def main() -> None:
    """Serve a copy of the demo's home with ``assay up``, log in, and take the pictures."""
    if not (DEMO / "assay.db").exists():
        sys.exit("there is no demo yet: run `make demo` first")
    with TemporaryDirectory(prefix="assay-screenshot-") as place:
        home = Path(place) / "home"
        shutil.copytree(DEMO, home, ignore=shutil.ignore_patterns("lake", "states"))
        os.environ |= {"ASSAY_HOME": str(home), "DJANGO_SETTINGS_MODULE": "assay.settings"}
        give_password()
        pages = {"catalogue": "/?whose=all", **pages_of_open_incident()}
        address = f"http://127.0.0.1:{(port := free_port())}"
        command = [str(Path(sys.executable).with_name("assay")), "up", "--port", str(port)]
        with running(command, ready=lambda: answers(address)):
            take(address, pages)
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


def give_password() -> None:
    """Let a user of the demo log in; the demo gives nobody a password."""
    import django

    django.setup()
    from django.contrib.auth.models import User

    user = User.objects.get(username=NAME)
    user.set_password(PASSWORD)
    user.save()


def answers(address: str) -> bool:
    """Whether the dashboard answers."""
    try:
        return bool(urlopen(f"{address}/login").status == 200)
    except OSError:
        return False


def pages_of_open_incident() -> dict[str, str]:
    """The addresses of the incident that the demo leaves open, and of its dataset."""
    from incident_manager.models import Incident
    from web.demo.world import PARTITIONING

    incident = Incident.objects.select_related("dataset").get(resolved_at__isnull=True)
    window = incident.spoilt_windows.first()
    assert window is not None
    day = PARTITIONING.key(PARTITIONING.at(window.window_start))
    return {
        "dataset": f"/datasets/{incident.dataset}?first={day}&last={day}&datacenter={window.datacenter}",
        "incident": f"/incidents/{incident.pk}",
    }


def take(address: str, pages: dict[str, str]) -> None:
    """Log in through the form and write a picture of each whole page, light and dark."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGUMENTS)
        page = browser.new_page(base_url=address, viewport=SIZE)  # type: ignore[arg-type]
        page.goto("/login")
        page.get_by_label("Name").fill(NAME)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{address}/")
        for name, path in pages.items():
            page.goto(path)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
