"""What people do in the demo: push a wrong SLA, answer incidents, report what no test sees, ask before they read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from django.contrib.auth.models import User

from alerting.waivers.rules import WaiverScope
from assay.access.roles import Role
from assay.catalog.profile import CatalogProfile
from assay.catalog.services import apply_catalog
from assay.catalog.yaml.provider import load
from assay.models import Dataset, Member
from assay.time.windows import Window
from incident_manager import services
from incident_manager.models import Incident, Report, Saw

from .days import DAYS, local, window_of
from .demo_tables import MART
from .faults import fault_named

SOURCE = "catalog"
TIGHT = 0.99
ANALYST, MART_OWNER, LAKE_OWNER = "ana@example.com", "mia@example.com", "lea@example.com"

ROLES = {ANALYST: Role.VIEWER, MART_OWNER: Role.OWNER, LAKE_OWNER: Role.OWNER}

DROPPED, WRONG_SLA, MIXED_UP = fault_named("dropped-rows"), fault_named("wrong-sla"), fault_named("mixed-up-delays")
EXPLAINED_AT = local("03-16 09:00")
REPORTED_AT, CONFIRMED_AT, FIXED_AT = local("03-22 13:00"), local("03-22 15:00"), local("03-23 09:00")
ASKS_AFTER = timedelta(hours=9)  # the analyst's report runs at nine


@dataclass(frozen=True, kw_only=True)
class Deed:
    """What somebody does at an instant."""

    at: datetime
    act: Callable[[datetime], None]


def enrol() -> None:
    """Give everybody their role; nobody of them has a password."""
    for name, role in ROLES.items():
        Member.objects.create(user=User.objects.create_user(name), role=role)


def deeds(catalog: Path) -> list[Deed]:
    """All that anybody does; ``catalog`` is the file that the demo began with."""
    windows = [window_of(day) for day in DAYS]
    return [
        *(Deed(at=window.end + ASKS_AFTER, act=partial(_ask, window)) for window in windows),
        Deed(at=EXPLAINED_AT, act=_explain),
        Deed(at=WRONG_SLA.started_at, act=partial(_push_sla, catalog)),
        Deed(at=WRONG_SLA.ended_at, act=_force),
        Deed(at=REPORTED_AT, act=_report),
        Deed(at=CONFIRMED_AT, act=_confirm),
        Deed(at=FIXED_AT, act=_fix),
    ]


def _ask(window: Window, now: datetime) -> None:
    services.look_up(dataset=_dataset(MART), window=window, now=now)


def _explain(now: datetime) -> None:
    incident = _open_incident(DROPPED.table, DROPPED.category)
    services.acknowledge(incident, author=LAKE_OWNER, now=now)
    services.annotate(
        incident,
        author=LAKE_OWNER,
        now=now,
        root_cause="the clean-up job took re-bookings for duplicates",
        eta=DROPPED.ended_at,
        backfill="waits for the weekend's free machines",
    )


def _push_sla(catalog: Path, now: datetime) -> None:
    mart = next(dataset for dataset in load(catalog).datasets if dataset.full_name == MART)
    wrong = replace(mart, slas=replace(mart.slas, completeness=TIGHT))
    apply_catalog(CatalogProfile(datasets=(wrong,), lineage=(), custom=()), source=SOURCE, full=False, now=now)


def _force(now: datetime) -> None:
    incident = _open_incident(WRONG_SLA.table, WRONG_SLA.category)
    reason = "The hours without a departure are meant to be there: the SLA is wrong, not the data."
    services.force_resolve(incident, scope=WaiverScope.TEST, reason=reason, author=MART_OWNER, now=now)


def _report(now: datetime) -> None:
    services.report(
        dataset=_dataset(MIXED_UP.table),
        window=window_of(MIXED_UP.day),
        reporter=ANALYST,
        description="Flights that left on time arrive an hour late here, late ones in time: the delays are mixed up.",
        saw=Saw.VALUES_WRONG,
        now=now,
    )


def _confirm(now: datetime) -> None:
    services.confirm_report(Report.objects.get(), author=LAKE_OWNER, now=now)


def _fix(now: datetime) -> None:
    services.fix_report(Report.objects.get(), author=LAKE_OWNER, now=now)


def _dataset(name: str) -> Dataset:
    return Dataset.objects.get(full_name=name)


def _open_incident(table: str, category: str) -> Incident:
    return Incident.objects.get(dataset__full_name=table, category=category, resolved_at__isnull=True)
