"""Checks of the work itself: is it hinted at, does it get done, and were people told."""

from datetime import timedelta

from django.db.models import Count, Min, Q

from alerting.models import Notice, Standing
from assay import clock
from assay.queue.backlog import backlogs, worst_rows
from assay.queue.claims import LONGEST_LEASE, leased, pending, unleased
from assay.queue.flow import STAGES
from assay.scheduler.beat import scheduler
from execution_engine.models import Scan, Suspect
from execution_engine.outcome import Reason

from .finding import Finding, ill, well

MOST_NAMED = 3
LONGEST_WAIT = timedelta(minutes=10)
SOON_TAKEN = timedelta(minutes=1)  # a scan that a worker is there for
LOST_AFTER = timedelta(minutes=5)  # a lease that ended so long ago, and nobody took the row
RECENT = timedelta(days=7)
START_WORKERS = "start `assay up`, or more workers of these queues; those beside data need `-Q assay.DATACENTER`"


def scheduling() -> Finding:
    """Whether a scheduler sweeps, where there is a broker."""
    known = scheduler()
    if known is None:
        return well("scheduler", "not needed without a broker")
    if known.silence is None:
        return ill("scheduler", "none has ever swept", "start `assay sweep` beside the workers")
    seconds = f"{known.silence.total_seconds():.0f} s ago"
    if known.is_silent:
        found = f"silent: the last sweep was {seconds}, at {known.swept_at:%Y-%m-%d %H:%M:%S} UTC"
        return ill("scheduler", found, "start `assay sweep` again; its log says why it ended")
    return well("scheduler", f"it has swept {seconds}")


def failing() -> Finding:
    """Whether rows are tried in vain, and which most often."""
    found = backlogs()
    if late := [each for each in found if each.failing]:
        names = ", ".join(f"{each.stage} ({each.failing})" for each in late)
        worst = ", ".join(f"{row.stage} {row.id} ({row.attempts} tries)" for row in worst_rows(MOST_NAMED))
        mend = "the log says why: look for the stage and the id"
        return ill("stages", f"rows fail again and again in {names}; worst {worst}", mend)
    return well("stages", f"{sum(each.waiting for each in found)} rows wait, none fails")


def waiting() -> Finding:
    """Whether rows have been due for long, as where no worker takes them."""
    now = clock.now()
    late = [
        f"{each.stage} ({each.age(now) / timedelta(minutes=1):.0f} min)"
        for each in backlogs(now)
        if each.age(now) > LONGEST_WAIT
    ]
    if late:
        return ill("waiting", f"nobody has worked what is due in {', '.join(late)}", START_WORKERS)
    return well("waiting", "nothing is overdue")


def datacenters() -> Finding:
    """Whether scans wait in a datacenter where no worker takes any."""
    real_now, now = clock.database_now(), clock.now()
    late = unleased(real_now) & Q(ended_at__isnull=True, created_at__lt=now - SOON_TAKEN)
    counts = Scan.objects.filter(late).order_by().values_list("datacenter").annotate(Count("pk"), Min("created_at"))
    idle_places = []
    for place, count, oldest in sorted(counts):
        there = Scan.objects.filter(datacenter=place)
        if not there.filter(Q(ended_at__gte=oldest) | leased(real_now)).exists():
            minutes = (now - oldest) / timedelta(minutes=1)
            idle_places.append(f"{place} ({count} scan{'s' * (count != 1)}, the oldest for {minutes:.0f} min)")
    if idle_places:
        return ill("datacenters", f"no worker takes what waits in {', '.join(idle_places)}", START_WORKERS)
    return well("datacenters", "what waits in each is taken")


def engines() -> Finding:
    """Whether windows stay unjudged because their engine cannot be reached, as where Spark cannot start."""
    away = Standing.objects.filter(error_reason=Reason.ENGINE_UNREACHABLE, data_test__retired_at__isnull=True)
    by_place = dict(away.values_list("data_test__datacenter").annotate(Count("pk")))
    if by_place:
        named = ", ".join(f"{count} in {place}" for place, count in sorted(by_place.items()))
        mend = "the log of the workers there says why; `assay doctor` looks for Java on this machine"
        return ill("engines", f"windows cannot be judged, as their engine cannot be reached: {named}", mend)
    return well("engines", "each that was asked has answered")


def leases() -> Finding:
    """Whether workers have left rows that nobody takes, or hold some for longer than any stage allows."""
    real_now = clock.database_now()
    lost = _leased(Q(lease_until__lt=real_now - LOST_AFTER))
    if lost:
        return ill("leases", f"workers have left rows in {lost}, and none takes them", START_WORKERS)
    if held := _leased(Q(lease_until__gt=real_now + LONGEST_LEASE)):
        mend = "was the database's clock set back? correct it; workers take these rows again"
        return ill("leases", f"held far into the future in {held}", mend)
    return well("leases", "none is stuck")


def notices() -> Finding:
    """Whether notices were given up in the last week."""
    dead = Notice.objects.filter(settled_at__gte=clock.now() - RECENT, sent_at__isnull=True, suppressed="")
    count = dead.count()
    if not count:
        return well("notices", "none was given up in the last 7 days")
    last = dead.order_by("-settled_at", "-pk")[:MOST_NAMED]
    named = "; ".join(f"{notice.pk} to {notice.recipient} by {notice.channel}: {notice.error}" for notice in last)
    mend = "repair the channel (ASSAY_EMAIL_URL, ASSAY_WEBHOOK_URL), and tell these people yourself"
    return ill("notices", f"{count} were given up in the last 7 days, such as {named}", mend)


def quarantined() -> Finding:
    """Whether some metrics are not measured any longer, because they ended their scans abnormally."""
    rows = Suspect.objects.filter(quarantined_at__isnull=False).select_related("dataset")
    count = rows.count()
    if not count:
        return well("quarantine", "nothing is quarantined")
    last = rows.order_by("-quarantined_at", "-pk")[:MOST_NAMED]
    named = "; ".join(f"{row.pk}: {row.spec_text} of {row.dataset} ({row.reason})" for row in last)
    mend = "revise the tests that ask for it, or lift it: POST /api/v1/quarantines/ID/lift"
    return ill("quarantine", f"{count} no longer measured, such as {named}", mend)


def _leased(how: Q) -> str:
    """The stages with pending rows that are leased so, with their number."""
    now = clock.now()
    counts = {stage.name: pending(stage, now).filter(how).count() for stage in STAGES}
    return ", ".join(f"{name} ({count})" for name, count in counts.items() if count)


def idle() -> list[Finding]:
    """Which parts of the work do not get done: what a reader of any page must know before trusting it."""
    return [finding for finding in (scheduling(), waiting(), datacenters(), engines()) if not finding.is_well]
