"""A company in which anything may happen next: results late, twice and out of order, users who decide, time."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar

from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from alerting.channels import ChannelMessage, TransportError
from alerting.channels.base import Channel
from alerting.channels.log import LogChannel
from alerting.state import WaiverScope
from assay import clock
from assay.models import Category, DataTest
from execution_engine.models import Run
from incident_manager import services
from incident_manager.models import EntryKind, Incident, Report, ReportState
from test_generator.services import retire
from tests.crawler.answers import disagreements
from tests.crawler.crawl import admin, crawl
from tests.factories import DatasetFactory, DataTestFactory, LineageEdgeFactory, day, revised
from tests.fuzz.state_rules import wrong
from tests.integration.story import advance, settle

WINDOWS = (day("2026-03-08"), day("2026-03-09"))
NEVER = day("2036-01-01")
BEGIN = WINDOWS[1].end + timedelta(hours=3)  # the second day is due in three hours
OUTCOMES = st.sampled_from(["held", "broken", "broken", "broken", "error:timeout", "error:warming up", "error:no data"])
LATE = st.sampled_from([0, 0, 0, 1, 60, 240, 600, 1500])  # minutes
STEPS = st.sampled_from([5, 15, 60, 60, 240, 240, 360, 1440])  # minutes
WHICH = st.integers(0, 5)
RARELY = st.sampled_from([False, False, True])

CRAWL_EVERY = 4  # stories: to ask everything, as everybody, takes longer than a story

_slots = count()


def _planned(**given: Any) -> DataTest:
    """A test whose next window is one that no story reaches: every result is told."""
    test: DataTest = DataTestFactory.create(
        **given, next_due_at=NEVER.end, next_window_start=NEVER.start, next_window_end=NEVER.end
    )
    return test


@dataclass
class Pager(Channel):
    """A channel whose receiver may be away; it keeps the key of each message that it took."""

    is_away: bool = False
    took: list[str] = field(default_factory=list)

    name: ClassVar[str] = "pager"

    def reaches(self, recipient: str) -> bool:
        """Always."""
        return True

    def send(self, message: ChannelMessage) -> str:
        """Take it, or not."""
        if self.is_away:
            raise TransportError("nobody answers", permanent=False)
        self.took += [str(fact["key"]) for fact in message.facts]
        return ""

    def try_out(self) -> None:
        """Not asked here."""


PAGER = Pager()
HAPPENED: Counter[str] = Counter()


def channels() -> tuple[Any, ...]:
    """Both ways to reach people here."""
    return LogChannel(), PAGER


class Company(RuleBasedStateMachine):
    """A feed with two tests and a table made of it with another; each example is a story of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._story = transaction.atomic()
        self._story.__enter__()
        PAGER.is_away = False
        PAGER.took.clear()
        clock.simulate(BEGIN)
        feed, made = DatasetFactory.create(), DatasetFactory.create(owner="grace")
        LineageEdgeFactory.create(upstream=feed, downstream=made)
        self.tests = [
            _planned(dataset=feed, category=Category.DUPLICATES),
            _planned(dataset=feed, category=Category.CUSTOM),
            _planned(dataset=feed, category=Category.CUSTOM),
            _planned(dataset=made, category=Category.CUSTOM),
        ]
        HAPPENED["stories"] += 1

    def teardown(self) -> None:
        """Every page and address answers at the end, all alike; then nothing of the story is left."""
        HAPPENED["incidents"] += Incident.objects.count()
        HAPPENED["notices"] += len(PAGER.took)
        try:
            found = crawl() if HAPPENED["stories"] % CRAWL_EVERY == 0 else [*disagreements(admin())]
            assert not found, "\n".join(found)
        finally:
            transaction.set_rollback(True)
            self._story.__exit__(None, None, None)

    @rule(minutes=STEPS)
    def time_passes(self, minutes: int) -> None:
        """Whatever falls due meanwhile is done."""
        self._did("time")
        advance(clock.now() + timedelta(minutes=minutes))

    @rule(test=WHICH, window=WHICH, outcome=OUTCOMES, late=LATE, excess=st.sampled_from([None, 1.0, 2.0, 3.0]))
    def a_result_arrives(self, test: int, window: int, outcome: str, late: int, excess: float | None) -> None:
        """Measured just now, or some time ago."""
        self._arrive(test, window, outcome, late=late, excess=excess)

    @rule(test=WHICH, window=WHICH, excess=st.sampled_from([None, 1.0, 2.0, 3.0]))
    def a_day_stays_broken(self, test: int, window: int, excess: float | None) -> None:
        """For longer than its sustain period."""
        for minutes in (0, 241):
            advance(clock.now() + timedelta(minutes=minutes))
            self._arrive(test, window, "broken", excess=excess)

    @rule(which=WHICH)
    def a_result_arrives_twice(self, which: int) -> None:
        """Its message was redelivered, and its run is judged again."""
        runs = list(Run.objects.filter(judged_at__isnull=False).order_by("-pk")[:6])
        if runs:
            self._did("doubled")
            Run.objects.filter(pk=runs[which % len(runs)].pk).update(judged_at=None)
            settle()

    @rule(minutes=STEPS)
    def an_owner_says_when(self, minutes: int) -> None:
        """The repair is expected at some instant, which may pass."""
        self._decide(services.annotate, eta=clock.now() + timedelta(minutes=minutes), text="we are on it")

    @rule()
    def an_owner_acknowledges(self) -> None:
        """The newest open incident."""
        self._decide(services.acknowledge)

    @rule()
    def an_owner_runs_it_again(self) -> None:
        """The newest open incident."""
        self._decide(services.rerun)

    @rule(scope=st.sampled_from(list(WaiverScope)))
    def an_owner_forces(self, scope: WaiverScope) -> None:
        """It was a false positive, or the test is wrong."""
        self._decide(services.force_resolve, scope=scope, reason="false")

    @rule()
    def an_owner_accepts(self) -> None:
        """It will not be repaired."""
        self._decide(services.accept, reason="never mind")

    @rule(test=WHICH, window=WHICH)
    def a_user_reports(self, test: int, window: int) -> None:
        """That a day is bad, be it known already or not."""
        self._did("report")
        dataset = self.tests[test % len(self.tests)].dataset
        services.report(
            dataset=dataset,
            window=WINDOWS[window % len(WINDOWS)],
            reporter="joan",
            description="doubled",
            now=clock.now(),
        )
        settle()

    @rule(which=WHICH, how=st.sampled_from([services.confirm_report, services.reject_report, services.fix_report]))
    def an_owner_answers_a_report(self, which: int, how: Callable[..., Report]) -> None:
        """Confirms, rejects or fixes it, be it too late or not."""
        rows = list(Report.objects.order_by("-pk")[:3])
        if rows:
            row = rows[which % len(rows)]
            decided = row.state in (ReportState.OPEN, ReportState.CONFIRMED)
            self._did("answer")
            try:
                how(row, author="ada", now=clock.now())
            except services.UnableToDecideReport:
                assert not decided or how is services.confirm_report
            settle()

    @rule(test=WHICH, bound=st.integers(1, 200), is_rare=RARELY)
    def a_test_is_revised(self, test: int, bound: int, is_rare: bool) -> None:
        """Another bound, which may be that of before."""
        if is_rare and (live := self._live(test)) is not None:
            self._did("revision")
            revised(live, assertion=f"row_count() >= {bound}", author="ada", now=clock.now())
            settle()

    @rule(test=WHICH, is_rare=RARELY)
    def a_test_is_retired(self, test: int, is_rare: bool) -> None:
        """Nobody runs it again."""
        if is_rare and (live := self._live(test)) is not None:
            self._did("retirement")
            retire(live, now=clock.now())
            settle()

    @rule(is_away=st.booleans())
    def the_receiver_comes_and_goes(self, is_away: bool) -> None:
        """What is sent meanwhile is sent again."""
        PAGER.is_away = is_away

    @invariant()
    def all_is_as_it_must_be(self) -> None:
        """After every step."""
        found = wrong(clock.now(), PAGER.took)
        assert not found, "\n".join(found)

    def _did(self, what: str) -> None:
        HAPPENED[what] += 1

    def _arrive(self, test: int, window: int, outcome: str, *, late: int = 0, excess: float | None = None) -> None:
        live = self._live(test)
        if live is None or live.revision is None:
            return
        now, (ended, _, reason) = clock.now(), outcome.partition(":")
        day_of = WINDOWS[window % len(WINDOWS)]
        self._did(f"{ended} late" if late else ended)
        Run.objects.create(
            data_test=live,
            revision=live.revision,
            reason="check",
            slot=f"story-{next(_slots)}",
            window_start=day_of.start,
            window_end=day_of.end,
            requested_at=now,
            due_at=now,
            planned_at=now,
            ready_at=now,
            evaluated_at=now,
            measured_at=now - timedelta(minutes=late),
            outcome=ended,
            error_reason=reason,
            transient=reason == "timeout",
            excess=excess if ended == "broken" else None,
            sentence=outcome,
        )
        settle()

    def _live(self, which: int) -> DataTest | None:
        found = DataTest.objects.select_related("dataset", "revision").get(pk=self.tests[which % len(self.tests)].pk)
        return found if found.retired_at is None else None

    def _decide(self, service: Callable[..., object], **given: Any) -> None:
        incident = Incident.objects.filter(resolved_at__isnull=True).order_by("-pk").first()
        if incident is None:
            return
        self._did(service.__name__)
        try:
            service(incident, author="ada", now=clock.now(), **given)
        except services.UnableToResolve:
            assert incident.kind == EntryKind.REPORTED
        settle()
