"""Waivers: a user's word that what is broken opens nothing."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from alerting.models import Standing, Waiver
from alerting.state import TROUBLED, WaiverKind
from alerting.verdicts.evidence import evidence_of
from alerting.waivers.rules import WaiverScope, waiver_end
from assay.models import DataTest
from assay.models import Scope as Reach

from .refold import refold

EVERY = Q()
TO_JUDGE = Q(state__in=TROUBLED) | Q(waiver__isnull=False)


def waive(
    standings: Iterable[Standing],
    *,
    kind: WaiverKind,
    scope: WaiverScope,
    until: datetime | None = None,
    reason: str,
    author: str,
    now: datetime,
) -> list[Waiver]:
    """One waiver per standing, as bad as it is now; they are judged anew. ``until``: as the user said, None by tier."""
    rows = [row for row in standings if row.data_test.revision_id]
    waivers = Waiver.objects.bulk_create(
        Waiver(
            data_test=row.data_test,
            revision=row.data_test.revision,
            kind=kind,
            window_start=row.window_start,
            window_end=row.window_end,
            excess=row.excess,
            reason=reason,
            author=author,
            starts_at=now,
            ends_at=waiver_end(scope, made_at=now, tier=row.data_test.dataset.tier, until=until),
        )
        for row in rows
    )
    tests = {row.data_test_id: row.data_test for row in rows}
    locked = Standing.objects.select_for_update().select_related("waiver")
    for row in locked.filter(TO_JUDGE, pk__in=[row.pk for row in rows]).order_by("pk"):
        refold(row, tests[row.data_test_id], evidence_of(tests[row.data_test_id], row.window), now)
    return waivers


def judge_what_waivers_reach(tests: Iterable[DataTest], *, scope: WaiverScope, now: datetime) -> None:
    """Judge anew what else waivers of some windows of these tests explain.

    These are other broken windows of the tests, where the waivers reach on, and the whole tables of their datasets:
    what the waived windows explain of a whole table needs no waiver of its own.
    """
    live = [test for test in tests if test.revision_id]
    if scope is WaiverScope.TEST:
        for test in live:
            if test.scope != Reach.TABLE:
                refold_troubled(test, now, Q(waiver=None))
    for test in _whole_tables_of({(test.dataset_id, test.category) for test in live}):
        refold_troubled(test, now)


def _whole_tables_of(places: Iterable[tuple[int, str]]) -> list[DataTest]:
    """The live tests of whole tables of these datasets and categories."""
    live = DataTest.objects.filter(scope=Reach.TABLE, retired_at__isnull=True, revision__isnull=False)
    rows = live.select_related("dataset", "revision").order_by("pk")
    return [test for dataset, category in sorted(places) for test in rows.filter(dataset=dataset, category=category)]


def end_waivers(test: DataTest, *, now: datetime) -> None:
    """Mark the end of every waiver of an older revision: a new one ends them all."""
    Waiver.objects.filter(data_test=test, ended_at__isnull=True).exclude(revision=test.revision).update(ended_at=now)


def refold_troubled(test: DataTest, now: datetime, which: Q = EVERY) -> None:
    """Judge a test's standings that are in trouble or waived again, or only some of them."""
    rows = Standing.objects.select_for_update().select_related("waiver").filter(data_test=test)
    for row in rows.filter(TO_JUDGE, which):
        refold(row, test, evidence_of(test, row.window), now)
