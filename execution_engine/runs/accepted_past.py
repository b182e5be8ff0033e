"""The accepted past that novelty compares with: kept from run to run, and extended by what was accepted since.

A batch joins once a later one is judged: where the test held on it, where a user said that it is right, and, of a
window that the test was never run on, where it is like those before it. One that is novel, and that nobody calls wrong,
joins after some more windows. Those that other tests find bad are left out while they are bad.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2s
from itertools import takewhile

from assay.database.statements import in_parts
from assay.models import DataTest
from assay.time.windows import Granularity, Window
from execution_engine.language.past import BatchWithPast
from execution_engine.language.tree import History
from execution_engine.models import AcceptedPast, Measurement, Release, Run
from execution_engine.novelty import past as stored_pasts
from execution_engine.novelty.days import Day, DayCalendar, Method
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import MOST_BATCHES, Past, ThawingPast, Unanswered, WindowAnswer
from execution_engine.outcome import Failure, Outcome, Reason
from execution_engine.parts.state_store import UnableToLoadState, keep_state, state_of
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Want
from execution_engine.profiles.profile import TableProfile
from execution_engine.profiles.stored import UnableToRead, from_bytes
from execution_engine.selectors import latest_measurements


class Word(StrEnum):
    """What is known of a batch of the past, and what became of it."""

    UNJUDGED = "unjudged"  # the test was never run on it
    OUTLIVED = "outlived"  # a user said that it, or one before it, is right for a time that is over
    UNANSWERED = "unanswered"  # it is novel, and nobody has said anything
    JOINED = "joined"
    RELEASED = "released"  # a user said that it is right
    LEFT = "left"  # a user said that it is wrong, it has no rows, or its profile cannot be read any more


IN_THE_PAST = (Word.JOINED, Word.RELEASED)
WORDS = {
    WindowAnswer.ACCEPTED: Word.JOINED,
    WindowAnswer.RELEASED: Word.RELEASED,
    WindowAnswer.NONE: Word.UNANSWERED,
    WindowAnswer.WRONG: Word.LEFT,
}


@dataclass(frozen=True, kw_only=True)
class PastBatch:
    """One batch of the past: its window's start, the measurement that profiled it, and what became of it."""

    start: str  # ISO 8601, in UTC
    measurement: int
    word: Word

    def is_as(self, earlier: "PastBatch") -> bool:
        """Whether what is known now (self) is what was known when it was taken into a past, or left out of it."""
        is_alike = (self.word is Word.RELEASED) is (earlier.word is Word.RELEASED)
        return is_alike and (self.start, self.measurement) == (earlier.start, earlier.measurement)


@dataclass(frozen=True, kw_only=True, eq=False)
class PastRecord:
    """A past, and the batches that it was made of, the oldest first."""

    thawing: ThawingPast = field(default_factory=ThawingPast)
    batches: tuple[PastBatch, ...] = ()

    @property
    def past(self) -> Past:
        """What batches are compared with."""
        return self.thawing.past

    def covers(self, batches: Sequence[PastBatch]) -> int | None:
        """How many of the wanted batches it was made of; None where it holds others, or in another way."""
        own = [batch for batch in self.batches if not batches or batch.start >= batches[0].start]
        fits = len(own) <= len(batches) and all(map(PastBatch.is_as, batches, own))
        return len(own) if fits else None

    def dated(self, calendar: DayCalendar | None) -> "PastRecord":
        """With the days of its batches: one that was kept may know none, or those of another zone or country."""
        past = self.past.dated([_day(start, calendar) for start in self.starts])
        return replace(self, thawing=replace(self.thawing, past=past))

    def with_unanswered(
        self, profiles: Callable[[int], TableProfile | None], calendar: DayCalendar | None
    ) -> "PastRecord":
        """With what is to be known of the batches that may still join; ``profiles`` gives those of measurements."""
        waiting = []
        for at, batch in enumerate(self.batches):
            if batch.word is Word.UNANSWERED and (profile := profiles(batch.measurement)) is not None:
                words = [other.word for other in self.batches[at + 1 :] if other.word is not Word.LEFT]
                joined = len(words) - words.count(Word.UNANSWERED)
                day = _day(batch.start, calendar)
                waiting.append(
                    Unanswered(key=batch.measurement, profile=profile, day=day, later=len(words), later_joined=joined)
                )
        return replace(self, thawing=replace(self.thawing, unanswered=tuple(waiting)))

    def with_batch(
        self, batch: PastBatch, profile: TableProfile | None, method: Method, day: Day | None = None
    ) -> "PastRecord":
        """With one more: it joins, it waits because it is novel and nobody says anything, or nothing is learned."""
        answer, thawing = WindowAnswer.WRONG, self.thawing
        if profile is not None and profile.rows:
            if batch.word not in (Word.UNJUDGED, Word.OUTLIVED):
                answer = next(answer for answer, word in WORDS.items() if word is batch.word)
            elif not judge(profile, self.past, method, day=day).is_novel:
                answer = WindowAnswer.ACCEPTED
            elif batch.word is Word.UNJUDGED:
                answer = WindowAnswer.NONE
            thawing = thawing.with_window(batch.measurement, profile, answer, day)
        waiting = {unanswered.key for unanswered in thawing.unanswered}
        batches = (*self.batches, replace(batch, word=WORDS[answer]))[-MOST_BATCHES:]
        return PastRecord(
            thawing=thawing,
            batches=tuple(
                replace(member, word=Word.JOINED)
                if member.word is Word.UNANSWERED and member.measurement not in waiting
                else member
                for member in batches
            ),
        )

    @property
    def starts(self) -> list[str]:
        """The windows of the batches that are in the past."""
        return [batch.start for batch in self.batches if batch.word in IN_THE_PAST]


class AcceptedPasts:
    """The pasts that runs of one task need, each read once; ``save`` keeps what has grown."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._pasts: dict[tuple[int | None, str], PastRecord] = {}
        self._changed: dict[tuple[int, str], PastRecord] = {}

    def batch_with_past(
        self, run: Run, history: History, measurement: Measurement, wants: Sequence[Want], sources: Sources
    ) -> BatchWithPast | Failure:
        """The batch of a run, and those before it that were accepted."""
        try:
            profile = from_bytes(state_of(measurement))
        except (UnableToRead, UnableToLoadState) as error:
            return Failure(reason=Reason.ENGINE_UNREACHABLE, detail=f"{measurement.spec_text}: {error}")
        dataset = sources.dataset(wants[0].dataset) if wants else run.data_test.dataset
        partitioning, calendar = dataset.partitioning, None
        if partitioning is not None and partitioning.granularity is Granularity.DAY:
            calendar = DayCalendar(zone=partitioning.zone, country=history.country)
        record, novel_before = self._past(run.data_test, history, wants, sources, calendar)
        return BatchWithPast(
            profile=profile,
            past=record.past,
            windows=record.starts,
            may_be_empty=run.data_test.dataset.allow_empty,
            day=_day(measurement.window_start.isoformat(), calendar),
            novel_before=novel_before,
        )

    def save(self) -> None:
        """Keep the pasts that have grown, each for the next run of its test."""
        for (test, operand), record in self._changed.items():
            row = AcceptedPast.objects.filter(data_test=test, operand=operand).first()
            row = row or AcceptedPast(data_test_id=test, operand=operand)
            row.batches = [[batch.start, batch.measurement, batch.word.value] for batch in record.batches]
            row.kept_at = self._now
            keep_state(row, stored_pasts.to_bytes(record.past))
            row.save()
        self._changed.clear()

    def _past(
        self, test: DataTest, history: History, wants: Sequence[Want], sources: Sources, calendar: DayCalendar | None
    ) -> tuple[PastRecord, int]:
        """The past, and how many of the last windows in a row are novel without an answer."""
        key = (test.pk, operand_key(history))
        rows: dict[Window, Measurement] = {}  # the profiles of past windows that other tests did not find bad
        if wants:
            hashes = {want.window: want.spec_hash for want in wants}
            dataset = sources.dataset(wants[0].dataset)
            latest = latest_measurements(dataset.pk, wants[0].datacenter, hashes, test.pk)
            rows = {window: row for window in hashes if (row := latest[window]) is not None}
        by_key = {row.pk: row for row in rows.values()}
        words = _words(test, list(rows), self._now)
        batches = [
            PastBatch(start=window.start.isoformat(), measurement=row.pk, word=words.get(window, Word.UNJUDGED))
            for window, row in rows.items()
            if words.get(window) is not Word.LEFT
        ]
        record = self._pasts.get(key)
        if record is None:  # as the last run left it; none where it cannot be read, so that it is made anew
            record = PastRecord()
            accepted = AcceptedPast.objects.filter(data_test=test.pk, operand=key[1])
            with suppress(UnableToRead, UnableToLoadState):
                if test.pk is not None and (last := accepted.first()) is not None:
                    past = ThawingPast(past=stored_pasts.from_bytes(state_of(last)))
                    past_batches = tuple(
                        PastBatch(start=start, measurement=pk, word=Word(word)) for start, pk, word in last.batches
                    )
                    record = PastRecord(thawing=past, batches=past_batches)
        record = record.dated(calendar)
        count, is_newer = record.covers(batches), True
        if count is None:
            is_newer = bool(batches) and batches[-1].start >= record.batches[-1].start
            record, count = PastRecord(), 0
        elif key not in self._pasts:
            record = record.with_unanswered(lambda measurement: readable_profile(by_key.get(measurement)), calendar)
        for batch in batches[count:]:
            profile, day = readable_profile(by_key[batch.measurement]), _day(batch.start, calendar)
            record = record.with_batch(batch, profile, history.method, day)
        self._pasts[key] = record
        if test.pk is not None and is_newer and count < len(batches):
            self._changed[test.pk, key[1]] = record
        return record, len(list(takewhile(lambda batch: batch.word is Word.UNANSWERED, reversed(batches))))


def _day(start: str, calendar: DayCalendar | None) -> Day | None:
    return None if calendar is None else calendar.day(datetime.fromisoformat(start))


def operand_key(history: History) -> str:
    """Under which the past of what a test compares is kept beside the test."""
    return blake2s(history.metric.text.encode(), digest_size=16).hexdigest()


def _words(test: DataTest, windows: Sequence[Window], now: datetime) -> dict[Window, Word]:
    """What the test's last run found of each, and what users have said."""
    words: dict[Window, Word] = {}
    if test.pk is None or not windows:
        return words
    runs = Run.objects.filter(data_test=test.pk, evaluated_at__isnull=False, outcome__in=(Outcome.HELD, Outcome.BROKEN))
    for starts in in_parts([window.start for window in windows]):
        results = runs.filter(window_start__in=starts).order_by("measured_at", "pk")
        for start, end, outcome in results.values_list("window_start", "window_end", "outcome"):
            words[Window(start=start, end=end)] = Word.JOINED if outcome == Outcome.HELD else Word.UNANSWERED
        for release in Release.objects.filter(data_test=test.pk, window_start__in=starts):
            if release.until is not None and release.until <= now:
                # windows that may have held only beside one that was right for a time, and is not any more
                for window, word in words.items():
                    if word is Word.JOINED and release.window_end <= window.start < release.until:
                        words[window] = Word.OUTLIVED
            if words.get(release.window) is Word.UNANSWERED:
                is_right = not release.is_wrong and (release.until is None or release.until > now)
                words[release.window] = Word.RELEASED if is_right else Word.LEFT
    return words


def readable_profile(row: Measurement | None) -> TableProfile | None:
    """The profile that a measurement kept; None where it cannot be read any more."""
    if row is None:
        return None
    try:
        return from_bytes(state_of(row))
    except (UnableToRead, UnableToLoadState):
        return None
