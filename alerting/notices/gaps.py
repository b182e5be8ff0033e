"""The weekly word to an owner about the standard tests that cannot be written."""

from datetime import datetime, timedelta

from alerting.channels import is_reachable
from alerting.coverage import coverage_by_tier
from assay.queue.claims import finish
from test_generator.models import Gap

from .policy import Event
from .services import tell

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
    year, week, _ = now.isocalendar()
    tell(
        event=Event.GAPS,
        recipient=owner,
        team=gap.dataset.team,
        is_soft=True,
        subject=f"{len(gaps)} standard tests cannot be written for your datasets",
        body=f"{_body(gaps)}\n\n{_coverage(owner, gap.dataset.team, now)}\n",
        facts={"owner": owner, "gaps": len(gaps)},
        key=f"gaps:{year}w{week:02d}",
        now=now,
    )
    open_gaps.filter(next_report_at__lte=now).exclude(pk=gap.pk).update(next_report_at=now + WEEK)
    finish(gap, next_report_at=now + WEEK)


def _body(gaps: list[Gap]) -> str:
    lines = [f"- {gap.dataset.full_name}, {gap.category}: {gap.reason}" for gap in gaps]
    more = [f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    head = "Assay cannot write these standard tests; each line gives the reason:"
    return "\n".join([head, "", *lines[:MOST_LISTED], *more])


def _coverage(owner: str, team: str, now: datetime) -> str:
    """How much of the owner's data is tested, by tier, and whether they can be told of it."""
    tiers = [tier for tier in coverage_by_tier(now=now, owner=owner) if tier.datasets]
    lines = [
        f"- tier {tier.tier}: {tier.live} of {tier.wanted + tier.gaps} standard tests are live ({tier.share:.0%}); "
        f"the target is {tier.target:.0%}"
        for tier in tiers
        if tier.share is not None
    ]
    heard = [] if is_reachable(owner, team) else [f"No channel but the log reaches {owner}: no notice can reach them."]
    return "\n".join(["Coverage of your datasets:", "", *lines, *heard])
