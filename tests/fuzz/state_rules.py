"""What must be true of standings, incidents, alerts, notices and reports, whatever has happened."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from alerting.models import Alert, Flip, Notice, Standing
from execution_engine.models import Run
from incident_manager.models import EntryKind, Episode, Incident, Report, ReportState, SpoiltWindow

OPENINGS, CLOSINGS = ("opened", "downstream"), ("recovered", "withdrawn")
SLA, SUSTAIN, SILENCE = timedelta(hours=6), timedelta(hours=4), timedelta(hours=4)
MOST_FAILURES = 10
TROUBLE = ("WARN", "FAIL", "UNKNOWN")
CLOSED = (ReportState.REJECTED, ReportState.FIXED, ReportState.WITHDRAWN, ReportState.JOINED)


def wrong(now: datetime, took: Sequence[str]) -> list[str]:
    """Everything that is not as it must be."""
    return [
        *_standings(now),
        *_flips(),
        *_incidents(),
        *_spoilt(),
        *_alerts(),
        *_notices(now, took),
        *_reports(),
    ]


def expected(runs: Sequence[Run], due: datetime, now: datetime) -> str:
    """Where a window stands by its results, however they came: put in order, and read from the end."""
    seen = sorted((run for run in runs), key=lambda run: (run.measured_at or now, run.pk))
    verdicts = [run for run in seen if run.outcome != "error"]
    if not verdicts:
        learning = bool(seen) and seen[-1].error_reason == "warming up"
        return "LEARNING" if learning else "UNKNOWN" if now >= due + SILENCE else "PENDING"
    if verdicts[-1].outcome == "held":
        return "PASS"
    last_held = max((n for n, run in enumerate(verdicts) if run.outcome == "held"), default=-1)
    broken = [run.measured_at for run in verdicts[last_held + 1 :] if run.measured_at]
    t0 = max(broken[0], due)
    if any(at - t0 >= SUSTAIN for at in broken):
        return "FAIL"
    if now < due:
        return "PENDING"
    errors = [run.measured_at for run in seen[seen.index(verdicts[-1]) + 1 :] if run.measured_at]
    return "UNKNOWN" if now >= _silent_at(broken[-1], t0, due, errors) else "WARN"


def _silent_at(last: datetime, t0: datetime, due: datetime, errors: Sequence[datetime]) -> datetime:
    """When nobody knows any more whether a WARN has become a FAIL."""
    if last < due:
        return due + SILENCE
    sustained = t0 + SUSTAIN
    by_errors = [max(sustained, errors[0])] if errors else []
    return min([sustained + SILENCE, *by_errors])


def _standings(now: datetime) -> Iterator[str]:
    for row in Standing.objects.select_related("data_test__revision"):
        test = row.data_test
        if test.retired_at is not None:
            if row.state in TROUBLE:
                yield f"{row}: its test is retired"
            continue
        runs = list(
            Run.objects.filter(data_test=test, revision=test.revision, evaluated_at__isnull=False).filter(
                window_start=row.window_start, window_end=row.window_end
            )
        )
        if test.revision is None or (test.revision.number > 1 and all(run.outcome == "error" for run in runs)):
            continue  # the older revision's word stays until the newest has one
        said = expected(runs, row.window_end + SLA, now)
        if said == "UNKNOWN" and row.waiver_id is not None:
            said = "WARN"  # nobody looks at what is waived
        if row.state != said:
            story = [(f"{run.measured_at:%d %H:%M}", run.outcome) for run in runs]
            yield f"{row}: should be {said} at {now:%d %H:%M} after {story}"


def _flips() -> Iterator[str]:
    """Each standing's flips are a chain from PENDING to its state, and say something each."""
    chains: dict[int, list[Flip]] = defaultdict(list)
    for flip in Flip.objects.order_by("pk"):
        chains[flip.standing_id].append(flip)
        if flip.handled_at is None:
            yield f"flip {flip.pk} was not handled"
    for row in Standing.objects.all():
        chain = chains[row.pk]
        states = ["PENDING", *(flip.new for flip in chain)]
        if [flip.old for flip in chain] != states[:-1] or states[-1] != row.state:
            yield f"{row}: its flips are {[(flip.old, flip.new) for flip in chain]}"
        waived = [False, *(flip.waived for flip in chain)]
        idle = [f for f, before in zip(chain, waived, strict=False) if f.old == f.new and f.waived == before]
        if idle:
            yield f"{row}: a flip without a change, {idle[0].old}"


def _incidents() -> Iterator[str]:
    detected = Incident.objects.filter(kind=EntryKind.DETECTED)
    opened = Counter(detected.filter(resolved_at=None).values_list("dataset", "category"))
    yield from (f"{count} open incidents of {pair}" for pair, count in opened.items() if count > 1)
    for incident in Incident.objects.select_related("alert"):
        is_open = incident.resolved_at is None
        if is_open != (incident.open_key is not None) or is_open != (incident.resolution == ""):
            yield f"{incident}: open {is_open}, key {incident.open_key!r}, ended {incident.resolution!r}"
        episodes = list(Episode.objects.filter(incident=incident).order_by("pk"))
        ends = [episode.closed_at for episode in episodes]
        if (ends[-1] is None) != is_open or None in ends[:-1]:
            yield f"{incident}: open {is_open}, its episodes end at {ends}"
        if incident.alert is not None and (incident.alert.closed_at is None) != is_open:
            yield f"{incident}: open {is_open}, its alert closed at {incident.alert.closed_at}"
        unhealed = incident.spoilt_windows.filter(healed_at=None).count()
        if is_open != bool(unhealed):
            yield f"{incident}: open {is_open}, {unhealed} windows are spoilt"


def _spoilt() -> Iterator[str]:
    """A FAIL that is not waived has one unhealed window; what passes, is waived or is nobody's has none."""
    found = Counter(
        SpoiltWindow.objects.filter(healed_at=None, data_test__isnull=False).values_list("data_test", "window_start")
    )
    for row in Standing.objects.select_related("data_test"):
        count = found[row.data_test_id, row.window_start]
        is_bad = row.state == "FAIL" and row.waiver_id is None and row.data_test.retired_at is None
        is_good = row.state == "PASS" or row.waiver_id is not None or row.data_test.retired_at is not None
        if (is_bad and count != 1) or (is_good and count):
            yield f"{row}, waived {row.waiver_id is not None}: {count} unhealed windows"


def _alerts() -> Iterator[str]:
    """Whoever has an opening has one closing once it is over: told if they were told, else suppressed."""
    for alert in Alert.objects.all():
        rows = list(Notice.objects.filter(alert=alert))
        for event in (*OPENINGS, *CLOSINGS):
            counts = Counter((row.recipient, row.channel) for row in rows if row.event == event)
            yield from (f"alert {alert.pk}: {n} × {event} to {who}" for who, n in counts.items() if n > 1)
        told = {(row.recipient, row.channel) for row in rows if row.event in OPENINGS and not row.suppressed}
        ended = {(row.recipient, row.channel): row for row in rows if row.event in CLOSINGS}
        if alert.closed_at is None:
            if ended:
                yield f"alert {alert.pk} is open, and said to have ended"
            continue
        if {who for who, row in ended.items() if not row.suppressed} != told:
            yield f"alert {alert.pk}: told {sorted(told)}, and of its end {sorted(ended)}"
        opened = {(row.recipient, row.channel) for row in rows if row.event in OPENINGS}
        if opened != set(ended) or not opened:
            yield f"alert {alert.pk}: openings {sorted(opened)}, closings {sorted(ended)}"


def _notices(now: datetime, took: Sequence[str]) -> Iterator[str]:
    """Delivered, or suppressed with its reason, or on its way to a receiver that is away; each key taken once."""
    yield from (f"{key} was taken {count} times" for key, count in Counter(took).items() if count > 1)
    for row in Notice.objects.all():
        if row.suppressed and (row.sent_at or not row.settled_at):
            yield f"{row.key}: suppressed ({row.suppressed}), sent at {row.sent_at}"
        if row.sent_at and row.channel == "pager" and row.key not in took:
            yield f"{row.key} is said to be sent"
        if not row.settled_at and row.due_at <= now:
            yield f"{row.key} is due since {row.due_at}"
        if row.settled_at and not row.sent_at and not row.suppressed and row.failures < MOST_FAILURES:
            yield f"{row.key} was given up after {row.failures} failures"


def _reports() -> Iterator[str]:
    for report in Report.objects.select_related("incident"):
        is_closed = report.state in CLOSED
        if is_closed != (report.closed_at is not None):
            yield f"{report} is {report.state}, closed at {report.closed_at}"
        if report.incident is not None and (report.incident.resolved_at is not None) != is_closed:
            yield f"{report} is {report.state}, its incident ended at {report.incident.resolved_at}"
