"""Which waiver covers what a standing says, and when one has served."""

from collections.abc import Iterable
from datetime import datetime

from alerting.models import Standing, Waiver
from alerting.state import WaiverKind
from alerting.verdicts.evidence import Evidence
from alerting.verdicts.sustain import Verdict
from assay.models import Category, DataTest, Scope
from execution_engine.outcome import Outcome

from .rules import BrokenResult, covering
from .rules import WaivedWindows as Waived
from .rules import WaiverScope as Reach


def waiver_of(standing: Standing, test: DataTest, verdict: Verdict, found: Evidence) -> Waiver | None:
    """The waiver that covers the latest result, if that is broken."""
    if verdict.outcome is not Outcome.BROKEN or verdict.measured_at is None:
        return None
    return waiver_over(standing, test, measured_at=verdict.measured_at, excess=verdict.excess, held_at=found.held_at)


def waiver_over(
    standing: Standing,
    test: DataTest,
    *,
    measured_at: datetime,
    excess: float | None,
    held_at: datetime | None = None,
) -> Waiver | None:
    """The waiver of the newest revision that covers a broken result of the standing's window: its own before others.

    There may be thousands of a test, one for each window that was accepted; of other windows only those that reach on.
    """
    rows = Waiver.objects.filter(data_test=test, revision=test.revision).order_by("pk")
    result = BrokenResult(
        test_id=test.pk,
        revision=test.revision_id or 0,
        window=standing.window,
        measured_at=measured_at,
        excess=excess,
        held_at=held_at,
    )
    if test.scope == Scope.TABLE:
        return _covering(rows, standing, test, result)
    own = rows.filter(window_start=standing.window_start, window_end=standing.window_end)
    reaching = rows.filter(ends_at__isnull=False)
    return _covering(own, standing, test, result) or _covering(reaching, standing, test, result)


def _covering(rows: Iterable[Waiver], standing: Standing, test: DataTest, result: BrokenResult) -> Waiver | None:
    by_id = {row.pk: row for row in rows}
    cover = covering((_as_said(row, test, standing) for row in by_id.values()), result)
    return by_id[cover.id] if cover else None


def _as_said(row: Waiver, test: DataTest, standing: Standing) -> Waived:
    window = standing.window if test.scope == Scope.TABLE else row.window  # the window of a whole table moves
    return Waived(
        id=row.pk,
        kind=WaiverKind(row.kind),
        test_id=row.data_test_id,
        revision=row.revision_id,
        made_at=row.starts_at,
        excesses={window: row.excess},
        scope=Reach.TEST if row.ends_at else Reach.WINDOW,
        ends_at=row.ends_at,
        of_lateness=test.category == Category.FRESHNESS,
    )


def end_held_waivers(test: DataTest, standing: Standing, verdict: Verdict, found: Evidence) -> None:
    """Mark the end of a window's own waiver once the window has held."""
    if standing.waiver_id is None or verdict.outcome is not Outcome.HELD:
        return
    own = Waiver.objects.filter(pk=standing.waiver_id, ends_at__isnull=True, starts_at__lt=found.held_at)
    own.update(ended_at=verdict.measured_at)
