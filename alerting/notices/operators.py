"""Notices about the service itself: a silent scheduler, a catalog that cannot be read, tests that cannot be written."""

from datetime import datetime, timedelta

from alerting.channels import is_reachable
from alerting.selectors import coverage_by_tier
from assay import clock
from assay.config import config
from assay.models import Pull
from assay.queue.claims import finish
from assay.scheduler.beat import scheduler
from test_generator.models import Gap

from .policy import Event
from .send import send_due
from .services import tell

# The weekly word to an owner about the standard tests that cannot be written.

WEEK = timedelta(days=7)
MOST_LISTED = 50


def report_gap(gap: Gap, now: datetime) -> None:
    """Tell the owner of all open gaps at once, so that the others that are due need no notice of their own."""
    owner = gap.dataset.owner
    open_gaps = Gap.objects.filter(dataset__owner=owner, closed_at__isnull=True, template="")
    gaps = list(open_gaps.select_related("dataset").order_by("dataset__full_name", "category"))
    if gap.closed_at is not None or not gaps:
        finish(gap, next_report_at=None)
        return
    lines = ["Assay cannot write these standard tests; each line gives the reason:", ""]
    lines += [f"- {row.dataset.full_name}, {row.category}: {row.reason}" for row in gaps[:MOST_LISTED]]
    lines += [f"- and {len(gaps) - MOST_LISTED} more"] if len(gaps) > MOST_LISTED else []
    lines += ["", "Coverage of your datasets:", ""]
    lines += [
        f"- tier {tier.tier}: {tier.live} of {tier.wanted + tier.gaps} standard tests are live ({tier.share:.0%}); "
        f"the target is {tier.target:.0%}"
        for tier in coverage_by_tier(now=now, owner=owner)
        if tier.datasets and tier.share is not None
    ]
    if not is_reachable(owner, gap.dataset):
        lines.append(f"No channel but the log reaches {owner}: no notice can reach them.")
    year, week, _ = now.isocalendar()
    tell(
        event=Event.GAPS,
        recipient=owner,
        dataset=gap.dataset,
        is_soft=True,
        subject=f"{len(gaps)} standard tests cannot be written for your datasets",
        body="\n".join(lines) + "\n",
        facts={"owner": owner, "gaps": len(gaps)},
        key=f"gaps:{year}w{week:02d}",
        now=now,
    )
    open_gaps.filter(next_report_at__lte=now).exclude(pk=gap.pk).update(next_report_at=now + WEEK)
    finish(gap, next_report_at=now + WEEK)


# The word to the platform's on-call when the catalog cannot be read as scheduled, and when it can again.

LONGEST = 4000  # characters of what is wrong


def tell_of_pull(row: Pull, now: datetime) -> None:
    """Tell on-call once that the catalog cannot be read, and once that it can; ends the stage ``tell_of_pull``."""
    since = row.failing_since or row.told_since
    if since is None:  # it was mended before anybody was told
        finish(row, tell_at=None)
        return
    is_failing = row.failing_since is not None
    what = f"the provider {row.name}" if row.name else "the catalog"
    subject, body = f"Assay reads {what} again", f"The fault that began at {since:%Y-%m-%d %H:%M} UTC is over.\n"
    if is_failing:
        fault = row.fault if len(row.fault) <= LONGEST else f"{row.fault[:LONGEST]} …"
        subject = f"Assay cannot read {what}"
        body = (
            f"Assay reads {what if row.name else config().catalog_path} on a schedule, and refused it:\n\n{fault}\n\n"
            f"What is known of its tables stays as it was. Assay reads it again at {row.due_at:%Y-%m-%d %H:%M} UTC.\n"
        )
    tell(
        event=Event.PLATFORM,
        recipient=config().on_call,
        subject=subject,
        body=body,
        facts={"fault": "catalog unreadable", "since": since.isoformat(), "is_over": not is_failing},
        key=f"pull:{row.name}{':' * bool(row.name)}{since:%Y%m%dT%H%M%S}:{'failing' if is_failing else 'over'}",
        now=now,
    )
    finish(row, tell_at=None, told_since=since if is_failing else None)


# The word to the platform's on-call when the scheduler is silent.

TOLD_AFTER = timedelta(minutes=5)  # a restart wakes nobody


def look_after_scheduler(*, looking_since: datetime) -> bool:
    """Whether the scheduler has been silent for five minutes; on-call is told once of each silence.

    Where none has ever swept, the silence began when we began to look. As nobody hints at the notice while the
    scheduler is silent, what is due to be sent is sent here.
    """
    beat = scheduler()
    if beat is None or not beat.is_silent or beat.now - (beat.swept_at or looking_since) < TOLD_AFTER:
        return False
    last = beat.swept_at
    seen = f"Its last sweep was at {last:%Y-%m-%d %H:%M:%S} UTC." if last else "It has never made a sweep."
    tell(
        event=Event.PLATFORM,
        recipient=config().on_call,
        subject="Assay's scheduler has stopped: no test is run on time",
        body=f"{seen} Start `assay sweep` again; until then workers do only the work that they find by themselves.\n",
        facts={"fault": "scheduler silent", "last_sweep_at": last.isoformat() if last else None},
        key=f"scheduler:{last:%Y%m%dT%H%M%S}" if last else "scheduler:never",
        now=clock.now(),
    )
    send_due()
    return True
