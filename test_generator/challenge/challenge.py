"""A challenge: copies of a table's last windows are spoilt, and tests, suggestions and novelty are asked about each."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.protocol import Engine, MeasurementRequest, Part, ScanReport, Table
from execution_engine.novelty.days import Day
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import ThawingPast, WindowAnswer
from execution_engine.novelty.verdict import NoveltyStatus
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile
from execution_engine.verification import (
    Check,
    ConstraintResult,
    ConstraintStatus,
    InMemoryRepository,
    ResultKey,
    StoredMetrics,
    VerificationSuite,
)
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

from .injector import SHARES, ErrorKind, inject, shares_of
from .live_tests import CopyTest, ForeignInputs, Moment, has_past
from .report import Challenge, Sound, Trial


class _NeedsEngine(Exception):
    """Files alone do not answer it."""


class _NoEngine:
    """Stands where an engine would, to see who asks for one."""

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        raise _NeedsEngine


class _ReadOnly:
    """The past, in which nothing of a copy is kept."""

    def __init__(self, past: InMemoryRepository) -> None:
        self.load = past.load

    def save(self, stored: StoredMetrics) -> None:
        """Nothing."""


Others = Callable[[ForeignInputs, Moment], Mapping[str, Table | Path]]  # what an assertion reads beside the copy


@dataclass(kw_only=True)
class Verifier:
    """Holds assertions against rows, each copy in a file of its own as long as it is looked at.

    What needs Spark is found out once, so that the rest never waits for it.
    """

    folder: Path  # for the copies; the caller removes it
    table: str
    engine: Engine
    others: Others
    past: InMemoryRepository = field(default_factory=InMemoryRepository)
    _needs_engine: dict[str, bool] = field(default_factory=dict)
    _number: Iterator[int] = field(default_factory=count)

    def results(
        self, tests: Sequence[CopyTest], rows: pa.Table, moment: Moment, *, joins: bool = False
    ) -> dict[str, ConstraintResult]:
        """What each test says of the rows of a window, given the past; ``joins``: they belong to it from now on."""
        if not tests:
            return {}
        path = self.folder / f"copy-{next(self._number)}.parquet"
        pq.write_table(rows, path)
        try:
            groups: dict[tuple[bool, ForeignInputs], list[CopyTest]] = {}
            for test in tests:
                if test.name not in self._needs_engine:
                    try:
                        self._verify([test], path, moment, _NoEngine(), joins=False)  # type: ignore[arg-type]
                        self._needs_engine[test.name] = False
                    except _NeedsEngine:
                        self._needs_engine[test.name] = True
                groups.setdefault((self._needs_engine[test.name], test.inputs), []).append(test)
            results: dict[str, ConstraintResult] = {}
            for group in groups.values():
                results |= self._verify(group, path, moment, self.engine, joins=joins)
            return results
        finally:
            path.unlink()

    def join(self, tests: Sequence[CopyTest], rows: pa.Table, moment: Moment) -> None:
        """The rows are part of the past from now on."""
        self.past.save(StoredMetrics(key=ResultKey.of(moment.at), values={"row_count()": rows.num_rows}))
        self.results([test for test in tests if test.has_past], rows, moment, joins=True)

    def _verify(
        self, tests: Sequence[CopyTest], path: Path, moment: Moment, engine: Engine, *, joins: bool
    ) -> dict[str, ConstraintResult]:
        """The results of tests that read the same others."""
        suite = VerificationSuite(engine=engine).on(path, self.table).add_check(*(test.check(moment) for test in tests))
        for name, data in self.others(tests[0].inputs, moment).items():
            suite = suite.with_table(name, data)
        past = self.past if joins else _ReadOnly(self.past)
        checks = suite.use_repository(past, ResultKey.of(moment.at)).run().checks
        return {test.name: check.constraints[0] for test, check in zip(tests, checks, strict=True)}


SUGGESTED_FROM = 30  # windows at most, as `assay suggest` does
KEYS_UP_TO = 2_000_000 // SUGGESTED_FROM  # rows of a window in which keys are looked for


@dataclass(frozen=True, kw_only=True)
class ChallengedWindow:
    """The rows of one window, and the columns of it that no profile may see."""

    moment: Moment
    rows: pa.Table
    hidden: Sequence[str] = ()
    start: float | None = None
    day: Day | None = None

    def profile_of(self, rows: pa.Table) -> TableProfile:
        """Of the columns that may be seen."""
        return gathered_profile([rows.drop_columns(list(self.hidden))], self.start)


@dataclass(kw_only=True)
class Challenger:
    """Goes through the windows of a table, the oldest first."""

    verifier: Verifier
    tests: Sequence[CopyTest]
    kinds: Sequence[ErrorKind]
    seed: int
    fixed: Sequence[str] = ()  # columns that are never spoilt
    results: Challenge = field(default_factory=Challenge)
    _thawing: ThawingPast = field(default_factory=ThawingPast)
    _before: pa.Table | None = None  # the rows of the last window that was learned
    _suggesting: deque[SuggestedWindow] = field(default_factory=lambda: deque(maxlen=SUGGESTED_FROM))

    def run(self, windows: Iterable[ChallengedWindow], count: int, progress: Callable[[int, int], None]) -> Challenge:
        """Challenge the last ``count`` windows; ``progress`` hears how many copies of how many are done."""
        last: deque[ChallengedWindow] = deque()
        for window in windows:
            last.append(window)
            if len(last) > count:
                self._learn(last.popleft())
                self.results.past += 1
        offered = suggestions(list(self._suggesting))
        self.results.suggested = [offer for offer in offered if offer.tried and offer.held == offer.tried]
        names = {test.name for test in self.tests}  # of a file of checks, which may have accepted a suggestion
        suggested = [_copy_test(offer) for offer in self.results.suggested if offer.assertion not in names]
        copies = [(kind, at, share) for kind in self.kinds for at, share in enumerate(shares_of(kind))]
        for number, window in enumerate(last):
            quiet, novel = self._judge_sound(window, [*self.tests, *suggested])
            for done, (kind, at, share) in enumerate(copies, 1):
                seed = (self.seed * 1000 + number) * len(SHARES) + at
                self._try(window, kind, share, seed, quiet, novel)
                progress(number * len(copies) + done, len(last) * len(copies))
            self._learn(window)
        return self.results

    def _learn(self, window: ChallengedWindow) -> None:
        """A window that is novel is no past of the next ones; it joins after some more, as nobody calls it wrong."""
        profile = window.profile_of(window.rows)
        rows = window.rows.drop_columns(list(window.hidden)) if window.rows.num_rows <= KEYS_UP_TO else None
        self._suggesting.append(SuggestedWindow(key=window.moment.key, profile=profile, rows=rows))
        is_novel = judge(profile, self._thawing.past, day=window.day).is_novel
        answer = WindowAnswer.NONE if is_novel else WindowAnswer.ACCEPTED
        self._thawing = self._thawing.with_window(window.moment.key, profile, answer, window.day)
        self._before = window.rows
        if not is_novel:
            self.verifier.join(self.tests, window.rows, window.moment)

    def _judge_sound(
        self, window: ChallengedWindow, tests: Sequence[CopyTest]
    ) -> tuple[Sequence[CopyTest], bool | None]:
        """The tests that are quiet about a window as it is, and what novelty says of it, None while it learns."""
        key, results = window.moment.key, self.verifier.results(tests, window.rows, window.moment)
        judged_names = {name for name, result in results.items() if result.status in _STATEMENTS}
        for test in self.tests:  # what was still learning may be judged in a later window
            if test.name in judged_names:
                self.results.unjudged.pop(test.name, None)
            elif not self.results.sound:
                self.results.unjudged[test.name] = f"{key}: {results[test.name].message}"
        verdict = judge(window.profile_of(window.rows), self._thawing.past, day=window.day)
        novel = None if verdict.status is NoveltyStatus.LEARNING else verdict.is_novel
        alarms = _failing_names(tests, results)
        self.results.sound.append(Sound(window=key, rows=window.rows.num_rows, novel=novel, **alarms))
        return [test for test in tests if results[test.name].status is ConstraintStatus.SUCCESS], novel

    def _try(
        self,
        window: ChallengedWindow,
        kind: ErrorKind,
        share: float,
        seed: int,
        quiet: Sequence[CopyTest],
        sound: bool | None,
    ) -> None:
        """One spoilt copy: what was quiet about the sound window, and speaks now, has caught it."""
        fixed = [name for name in self.fixed if name in window.rows.column_names]
        before = None if self._before is None else self._before.drop_columns(fixed)
        injected = inject(window.rows.drop_columns(fixed), kind, share, seed, before)
        if not injected.changed:
            return
        rows = injected.table
        for name in fixed:  # they have one value in a window, as that of its partition; each in its place
            at = window.rows.schema.get_field_index(name)
            value = window.rows.column(at)[0] if len(window.rows) else None
            rows = rows.add_column(at, window.rows.schema.field(at), pa.repeat(value, len(rows)))
        caught = _failing_names(quiet, self.verifier.results(quiet, rows, window.moment))
        novel = None if sound is None else False
        if sound is False:
            novel = judge(window.profile_of(rows), self._thawing.past, day=window.day).is_novel
        self.results.trials.append(
            Trial(
                window=window.moment.key,
                kind=kind,
                share=share,
                columns=injected.columns,
                rows=injected.rows,
                novel=novel,
                **caught,
            )
        )


_STATEMENTS = (ConstraintStatus.SUCCESS, ConstraintStatus.FAILURE)  # about the data


def _failing_names(tests: Sequence[CopyTest], results: Mapping[str, ConstraintResult]) -> dict[str, tuple[str, ...]]:
    failing = [test for test in tests if results[test.name].status is ConstraintStatus.FAILURE]
    return {
        "tests": tuple(test.name for test in failing if not test.is_suggested),
        "suggestions": tuple(test.name for test in failing if test.is_suggested),
    }


def _copy_test(suggestion: Suggestion) -> CopyTest:
    check, past = Check().holds(suggestion.assertion), has_past(suggestion.assertion)
    return CopyTest(name=suggestion.assertion, check=lambda _: check, has_past=past, is_suggested=True)
