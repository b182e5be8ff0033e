"""Waivers: a user's word that what is broken opens nothing."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from alerting.evidence import evidence, runs_of
from alerting.models import Standing, Waiver, WaiverKind
from alerting.services.standings import TROUBLED, refold
from alerting.waivers import Scope, waiver_end
from assay.models import DataTest


def waive(
    standings: Iterable[Standing], *, kind: WaiverKind, scope: Scope, reason: str, author: str, now: datetime
) -> list[Waiver]:
    """One waiver per standing, as bad as it is now; the broken standings of their tests are judged anew."""
    rows = [row for row in standings if row.data_test.revision_id]
    waivers = Waiver.objects.bulk_create(_waiver(row, kind, scope, reason, author, now) for row in rows)
    for test in {row.data_test_id: row.data_test for row in rows}.values():
        refold_troubled(test, now)
    return waivers


def _waiver(row: Standing, kind: WaiverKind, scope: Scope, reason: str, author: str, now: datetime) -> Waiver:
    return Waiver(
        data_test=row.data_test,
        revision=row.data_test.revision,
        kind=kind,
        window_start=row.window_start,
        window_end=row.window_end,
        excess=row.excess,
        reason=reason,
        author=author,
        starts_at=now,
        ends_at=waiver_end(scope, made_at=now, tier=row.data_test.dataset.tier),
    )


def end_waivers(test: DataTest, *, now: datetime) -> None:
    """Mark the end of every waiver of an older revision: a new one ends them all."""
    Waiver.objects.filter(data_test=test, ended_at__isnull=True).exclude(revision=test.revision).update(ended_at=now)


def refold_troubled(test: DataTest, now: datetime) -> None:
    """Judge a test's standings that are in trouble or waived again."""
    rows = Standing.objects.select_for_update().select_related("waiver").filter(data_test=test)
    for row in rows.filter(Q(state__in=TROUBLED) | Q(waiver__isnull=False)):
        refold(row, test, evidence(runs_of(test, row.window)), now)
