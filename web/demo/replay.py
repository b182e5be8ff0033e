"""The replay: time goes to the next thing that happens in the world, it happens, and Assay works it all off."""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from shutil import copyfile

from django.db import transaction

from assay import clock
from assay.catalog.services import record_completion
from assay.catalog.yaml.provider import load as load_catalog
from assay.models import Dataset
from assay.queue.drain import advance
from test_generator.services import sync

from .days import BEGINS_AT, ENDS_AT, window_of
from .demo_tables import Lake
from .people import SOURCE, Deed, deeds, enrol
from .pipelines import Writing, writings
from .real_data import load

CATALOG = Path(__file__).with_name("catalog.yaml")


def replay(
    home: Path,
    *,
    seen: Callable[[datetime], None] = lambda instant: None,
    settle: Callable[[], object] | None = None,
    until: datetime = ENDS_AT,
) -> None:
    """Live through the demo's four weeks, or to ``until``, in an empty database, with the lake's files in ``home``.

    All is worked off here; or ``settle`` returns once nothing is pending, as it waits for workers that do it.
    """
    lake = Lake(folder=home / "lake", source=load())
    lake.create()
    catalog = home / CATALOG.name
    copyfile(CATALOG, catalog)
    clock.simulate(BEGINS_AT)
    with clock.held(BEGINS_AT):
        sync(load_catalog(catalog), source=SOURCE, now=BEGINS_AT)
        enrol()
        for event in [event for event in happenings(catalog) if event.at <= until]:
            advance(event.at, seen=seen, settle=settle)
            happen(event, lake)
        advance(until, seen=seen, settle=settle)


def happenings(catalog: Path) -> list[Writing | Deed]:
    """Everything that pipelines and people do, in order; at one instant the pipelines come first."""
    everything: list[Writing | Deed] = [*writings(), *deeds(catalog)]
    return sorted(everything, key=attrgetter("at"))


def happen(event: Writing | Deed, lake: Lake) -> None:
    """Let it happen now."""
    if isinstance(event, Deed):
        event.act(event.at)
        return
    event.write(lake)
    if event.announced:
        announce(event)


@transaction.atomic
def announce(event: Writing) -> None:
    """The pipeline says that it has completed the partition."""
    record_completion(
        dataset=Dataset.objects.get(full_name=event.table),
        datacenter=event.datacenter,
        window=window_of(event.day),
        pipeline=f"{event.table} daily",
        now=event.at,
    )
