"""The flow on one screen: each stage, the table it claims from, what is pending there, and the task that claims it.

A stage's rows and the marker that the next stage claims are written in one transaction. A message only says "look
now"; whatever a lost message left, the sweep finds here. Names, not imports: this module knows nothing above it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.time.durations import next_time

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One queue. A row is pending when ``after`` is set, ``marker`` is null and ``due`` has come."""

    name: str
    table: str
    task: str
    marker: str | None = None
    after: str | None = None
    due: str | None = None
    first: str | None = None  # claimed in the order of this column, then of when they are due
    then: str | None = None  # the order of those that are due at the same instant
    came: str | None = None  # when a row came, where neither ``due`` nor ``after`` says it
    furthest: timedelta | None = None  # ahead that ``due`` lies; what lies further is of a clock that was set back
    bring_back: str | None = None  # the function that does so for rows of which no one length says it
    cadence: str | None = None  # a length or a cron line: what comes round so claims the ``Round`` of its name
    leads_to: tuple[str, ...] = ()  # the later stages to which what it has worked goes on, unless it ends there
    by_datacenter: bool = False  # one queue per datacenter, worked beside its data
    is_aside: bool = False  # no verdict waits for it

    @property
    def order(self) -> tuple[str, ...]:
        """The columns in whose order rows are claimed."""
        return (*filter(None, (self.first, self.due, self.then)), "pk")

    @property
    def waits_since(self) -> str:
        """The column of the instant from which on a pending row waits."""
        column = self.due or self.after or self.came
        assert column, f"nothing says since when rows of {self.name} wait"
        return column

    def next_round(self, now: datetime) -> datetime:
        """When what comes round by time is due after ``now``."""
        assert self.cadence, f"nothing says how often {self.name} comes round"
        return next_time(self.cadence, now)

    def latest_due(self, now: datetime) -> datetime | None:
        """The latest instant at which a row may be due; None where no one length says it."""
        if self.cadence:
            return self.next_round(now)
        return None if self.furthest is None else now + self.furthest


STAGES = (
    # what to test: metadata and lineage → data tests → due runs
    Stage(
        name="pull",
        table="assay.Pull",
        due="due_at",
        task="test_generator.tasks.pull",
        bring_back="assay.scheduler.beat.bring_back",
    ),
    Stage(
        name="reconcile",
        table="assay.Dataset",
        due="reconcile_at",
        task="test_generator.tasks.reconcile",
        furthest=DAY,
    ),
    Stage(
        name="lineage",
        table="assay.Round",
        due="due_at",
        cadence="0 3 * * *",
        task="execution_engine.tasks.lineage",
        is_aside=True,
    ),
    Stage(
        name="schedule",
        table="assay.DataTest",
        due="next_due_at",
        then="dataset_id",  # so that a dataset's tests share their scan
        task="execution_engine.tasks.schedule",
        leads_to=("plan",),
        bring_back="execution_engine.services.bring_cursors_back",
    ),
    # what the data says: runs → measurements → scans → outcomes
    Stage(
        name="plan",
        table="execution_engine.Run",
        marker="planned_at",
        due="due_at",
        first="turn",
        task="execution_engine.tasks.plan",
        leads_to=("scan",),
        bring_back="execution_engine.services.bring_runs_back",
    ),
    Stage(
        name="scan",
        table="execution_engine.Scan",
        marker="ended_at",
        came="created_at",
        first="turn",
        task="execution_engine.tasks.scan",
        leads_to=("evaluate",),
        by_datacenter=True,
    ),
    Stage(
        name="evaluate",
        table="execution_engine.Run",
        after="ready_at",
        marker="evaluated_at",
        task="execution_engine.tasks.evaluate",
        leads_to=("judge",),
    ),
    Stage(
        name="rows",  # the rows that broke a test, kept until they have had their time
        table="execution_engine.RowsExport",
        due="due_at",
        task="execution_engine.tasks.write_rows",
        by_datacenter=True,
        furthest=366 * DAY,
    ),
    Stage(
        name="watch",
        table="execution_engine.Watch",
        due="next_look_at",
        task="execution_engine.tasks.watch",
        by_datacenter=True,
        furthest=DAY,
    ),
    Stage(
        name="vitals",  # the commits of every table, whether it has tests or not
        table="execution_engine.Heartbeat",
        due="next_look_at",
        task="execution_engine.tasks.look_at_commits",
        by_datacenter=True,
        furthest=DAY,
        is_aside=True,
    ),
    # what it means: outcomes → standings → incidents and alerts → notices
    Stage(
        name="judge",
        table="execution_engine.Run",
        after="evaluated_at",
        marker="judged_at",
        task="alerting.tasks.judge",
    ),
    Stage(
        name="adopt",  # due runs that have given nothing: their windows must not stay without a standing
        table="execution_engine.Run",
        marker="evaluated_at",
        due="late_at",
        task="alerting.tasks.adopt",
    ),
    Stage(name="age", table="alerting.Standing", due="next_age_at", task="alerting.tasks.age", furthest=32 * DAY),
    Stage(name="handle", table="alerting.Flip", marker="handled_at", came="at", task="incident_manager.tasks.handle"),
    Stage(name="alert", table="alerting.Alert", due="next_notice_at", task="alerting.tasks.alert", furthest=DAY),
    Stage(
        name="gaps",
        table="test_generator.Gap",
        due="next_report_at",
        task="alerting.tasks.report_gaps",
        furthest=7 * DAY,
    ),
    Stage(name="tell_of_pull", table="assay.Pull", due="tell_at", task="alerting.tasks.tell_of_pull", furthest=HOUR),
    Stage(
        name="send",
        table="alerting.Notice",
        marker="settled_at",
        due="due_at",
        task="alerting.tasks.send",
        furthest=HOUR,
    ),
    Stage(name="emit", table="alerting.Emission", due="due_at", task="alerting.tasks.emit", furthest=HOUR),
    Stage(  # behind the notices, none of which waits for it
        name="explain",
        table="alerting.SliceSearch",
        marker="ended_at",
        came="requested_at",
        task="alerting.tasks.explain",
        by_datacenter=True,
    ),
    Stage(  # what it shows may release or silence a notice, which does not wait for it
        name="weigh",
        table="alerting.SliceTrial",
        marker="ended_at",
        came="requested_at",
        task="alerting.tasks.weigh",
        by_datacenter=True,
    ),
    # until the data is right: checks, changed data, new revisions, reports
    Stage(
        name="check",
        table="alerting.Standing",
        due="next_check_at",
        task="incident_manager.tasks.check",
        furthest=DAY,
    ),
    Stage(
        name="follow", table="assay.DataChange", marker="followed_at", came="at", task="incident_manager.tasks.follow"
    ),
    Stage(
        name="rejudge",
        table="assay.Revision",
        marker="rejudged_at",
        came="created_at",
        task="incident_manager.tasks.rejudge",
    ),
    Stage(
        name="end",
        table="incident_manager.Ending",
        marker="ended_at",
        came="said_at",
        task="incident_manager.tasks.end",
    ),
    Stage(
        name="remind",
        table="incident_manager.Report",
        due="next_step_at",
        task="incident_manager.tasks.remind",
        furthest=30 * DAY,
    ),
    Stage(name="digest", table="assay.Round", due="due_at", cadence="0 6 * * *", task="incident_manager.tasks.digest"),
    Stage(name="signs", table="assay.Round", due="due_at", cadence="1h", task="incident_manager.tasks.signs"),
    # what people leave out of a dataset, where the operator lets evidence decide
    Stage(name="accept", table="assay.Round", due="due_at", cadence="0 5 * * *", task="incident_manager.tasks.accept"),
    # what a past suggests, when somebody asks
    Stage(
        name="suggest",
        table="test_generator.PastReading",
        marker="ended_at",
        came="asked_at",
        task="test_generator.tasks.suggest",
        by_datacenter=True,
    ),
    # so that tables stay fast for years: what has had its time goes
    Stage(name="prune", table="assay.Round", due="due_at", cadence="1d", task="incident_manager.tasks.prune"),
)


def stage(name: str) -> Stage:
    """The stage called ``name``."""
    return next(stage for stage in STAGES if stage.name == name)
