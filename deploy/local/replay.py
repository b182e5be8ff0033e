"""``python -m deploy.local.replay HOME``: a fortnight of the demo, worked by the processes of a service.

The environment is that of the service. Rows lost in the lake become an incident, are told, loaded again and heal.
"""

import sys
import time
from datetime import datetime
from pathlib import Path

import django
from rich.console import Console
from rich.table import Table

SETTLE_LIMIT = 300.0  # seconds; a Spark session of a new worker is the longest wait
LOOK_EVERY = 0.02


class UnableToSettle(Exception):
    """The workers leave something pending."""


def main(home: Path) -> int:
    """The exit code: 0 where the story went as it should."""
    django.setup()
    from web.demo.replay import replay
    from web.demo.world import local

    console, begun = Console(), time.monotonic()
    with console.status("…") as status:
        replay(
            home,
            seen=lambda instant: status.update(f"{instant:%d %B %H:%M} UTC"),
            settle=settle,
            until=local("03-17 18:00"),
        )
    console.print(f"Twelve days in {time.monotonic() - begun:.0f} s.")
    console.print(incidents())
    return 0 if all_is_well() else 1


def settle() -> None:
    """Return once the workers have left nothing pending; raises UnableToSettle."""
    from assay import clock
    from assay.queue.drain import stages_with_work

    deadline = time.monotonic() + SETTLE_LIMIT
    while busy := stages_with_work(clock.now()):
        if time.monotonic() > deadline:
            raise UnableToSettle(f"these stages still have work: {', '.join(stage.name for stage in busy)}")
        time.sleep(LOOK_EVERY)


def incidents() -> Table:
    """Every incident with its end, and the processes that have scanned."""
    from execution_engine.models import Scan
    from incident_manager.models import Incident

    workers = ", ".join(sorted(set(Scan.objects.values_list("worker", flat=True))))
    rows = Table("dataset", "category", "from", "to", "ended", title=f"Incidents; scanned by {workers}")
    for incident in Incident.objects.select_related("dataset").order_by("detected_at"):
        times = _date(incident.detected_at), _date(incident.resolved_at)
        rows.add_row(incident.dataset.full_name, incident.category, *times, incident.resolution)
    return rows


def all_is_well() -> bool:
    """Whether the lost rows became an incident that has healed by itself, and nothing else is open."""
    from incident_manager.models import Incident

    healed = Incident.objects.filter(dataset__full_name="lake.flights", category="completeness", resolution="auto")
    return healed.exists() and not Incident.objects.filter(resolved_at__isnull=True).exists()


def _date(instant: datetime | None) -> str:
    return f"{instant:%d %B %H:%M}" if instant else "open"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
