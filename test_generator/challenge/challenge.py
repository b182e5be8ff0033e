"""A challenge: copies of a table's last windows are spoilt, and tests, suggestions and novelty are asked about each."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.catalog.selectors import by_name, home
from assay.command_line.command import UnableToRun
from assay.models import Category, Dataset, DataTest, Scope
from assay.time.windows import Partitioning, Window
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.protocol import Engine, Part, ScanReport, Table, Wanted
from execution_engine.file_windows import files_of, rows_of
from execution_engine.language.templates import UnableToRender
from execution_engine.novelty.days import Day
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Answer, Past, ThawingPast
from execution_engine.novelty.verdict import NoveltyStatus
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import Profile
from execution_engine.verification import (
    Check,
    ConstraintStatus,
    InMemoryRepository,
    ResultKey,
    StoredMetrics,
    UnableToAssert,
    VerificationSuite,
)
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

from .injector import SHARES, ErrorKind, inject, shares_of
from .tally import ALONE, JUDGED_ANYWAY, OTHER_PLACE, WHOLE_TABLE, Beside, Trial, beside, for_window, has_past, why_not

# Assertions held against copies of a window: each copy lies in a folder of its own as long as it is looked at.


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One window: its key, and the time that histories are in the order of: that of its start, by the local clock."""

    key: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Something that is asserted of each window; ``check`` writes it down for one of them."""

    name: str
    check: Callable[[Moment], Check]
    has_past: bool = False
    beside: Beside = ALONE
    is_suggested: bool = False


@dataclass(frozen=True, kw_only=True)
class Said:
    """What came of it."""

    status: ConstraintStatus
    message: str

    @property
    def is_known(self) -> bool:
        """Whether it is a statement about the data."""
        return self.status in (ConstraintStatus.SUCCESS, ConstraintStatus.FAILURE)


class _NeedsEngine(Exception):
    """Files alone do not answer it."""


class _NoEngine:
    """Stands where an engine would, to see who asks for one."""

    def scan(self, table: Table, part: Part, wanted: Sequence[Wanted]) -> ScanReport:
        raise _NeedsEngine


class _ReadOnly:
    """The past, in which nothing of a copy is kept."""

    def __init__(self, past: InMemoryRepository) -> None:
        self._past = past

    def save(self, stored: StoredMetrics) -> None:
        """Nothing."""

    def load(self) -> list[StoredMetrics]:
        """Every window of the past."""
        return self._past.load()


Others = Callable[[Beside, Moment], Mapping[str, "Table | Path"]]  # what an assertion reads beside the copy


@dataclass(kw_only=True)
class Verifier:
    """Holds assertions against rows. What needs Spark is told apart once, so that the rest never waits for it."""

    folder: Path  # for the copies; the caller removes it
    table: str
    engine: Engine
    others: Others
    past: InMemoryRepository = field(default_factory=InMemoryRepository)
    _needs_engine: dict[str, bool] = field(default_factory=dict)
    _number: Iterator[int] = field(default_factory=count)

    def said(self, asked: Sequence[Asked], rows: pa.Table, moment: Moment) -> dict[str, Said]:
        """What each says of the rows of a window, given the past."""
        return self._said(asked, rows, moment, joins=False)

    def join(self, asked: Sequence[Asked], rows: pa.Table, moment: Moment) -> None:
        """The rows are part of the past from now on."""
        counted = StoredMetrics(key=_key(moment), values={"row_count()": rows.num_rows})
        self.past.save(counted)
        self._said([each for each in asked if each.has_past], rows, moment, joins=True)

    def _said(self, asked: Sequence[Asked], rows: pa.Table, moment: Moment, *, joins: bool) -> dict[str, Said]:
        if not asked:
            return {}
        path = self.folder / f"copy-{next(self._number)}.parquet"
        pq.write_table(rows, path)
        try:
            groups: dict[tuple[bool, Beside], list[Asked]] = {}
            for each in asked:
                groups.setdefault((self._asks_engine(each, path, moment), each.beside), []).append(each)
            found: dict[str, Said] = {}
            for (_, beside), some in groups.items():
                found |= self._verified(some, path, moment, self.engine, beside, joins=joins)
            return found
        finally:
            path.unlink()

    def _asks_engine(self, asked: Asked, path: Path, moment: Moment) -> bool:
        if asked.name not in self._needs_engine:
            try:
                self._verified([asked], path, moment, _NoEngine(), asked.beside, joins=False)  # type: ignore[arg-type]
                self._needs_engine[asked.name] = False
            except _NeedsEngine:
                self._needs_engine[asked.name] = True
        return self._needs_engine[asked.name]

    def _verified(
        self, asked: Sequence[Asked], path: Path, moment: Moment, engine: Engine, beside: Beside, *, joins: bool
    ) -> dict[str, Said]:
        verification = VerificationSuite(engine=engine).on(path, self.table)
        verification = verification.add_check(*(each.check(moment) for each in asked))
        for name, data in self.others(beside, moment).items():
            verification = verification.with_table(name, data)
        kept = self.past if joins else _ReadOnly(self.past)
        result = verification.use_repository(kept, _key(moment)).run()
        said = [check.constraints[0] for check in result.checks]
        return {each.name: Said(status=one.status, message=one.message) for each, one in zip(asked, said, strict=True)}


def _key(moment: Moment) -> ResultKey:
    return ResultKey.of(moment.at)


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

    def profile_of(self, rows: pa.Table) -> Profile:
        """Of the columns that may be seen."""
        return gathered_profile([rows.drop_columns(list(self.hidden))], self.start)


@dataclass(frozen=True, kw_only=True)
class Sound:
    """What is said of a window as it is: false alarms, unless it is wrong itself. ``novel``: None while it learns."""

    window: str
    rows: int
    tests: tuple[str, ...]
    suggestions: tuple[str, ...]
    novel: bool | None


@dataclass(kw_only=True)
class Challenge:
    """All that was found; ``unjudged`` says of each test that could not be judged on a copy why not."""

    sound: list[Sound] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    suggested: list[Suggestion] = field(default_factory=list)
    unjudged: dict[str, str] = field(default_factory=dict)
    past: int = 0  # windows before the first that was challenged


@dataclass(kw_only=True)
class Challenger:
    """Goes through the windows of a table, the oldest first."""

    verifier: Verifier
    asked: Sequence[Asked]
    kinds: Sequence[ErrorKind]
    seed: int
    fixed: Sequence[str] = ()  # columns that are never spoilt
    found: Challenge = field(default_factory=Challenge)
    _thawing: ThawingPast = field(default_factory=ThawingPast)
    _before: pa.Table | None = None  # the rows of the last window that was learned
    _suggesting: deque[SuggestedWindow] = field(default_factory=lambda: deque(maxlen=SUGGESTED_FROM))

    def run(self, windows: Iterable[ChallengedWindow], count: int, told: Callable[[int, int], None]) -> Challenge:
        """Challenge the last ``count`` windows; ``told`` hears how many copies of how many are done."""
        last: deque[ChallengedWindow] = deque()
        for window in windows:
            last.append(window)
            if len(last) > count:
                self._learn(last.popleft())
                self.found.past += 1
        self.found.suggested = [
            one for one in suggestions(list(self._suggesting)) if one.tried and one.held == one.tried
        ]
        names = {each.name for each in self.asked}  # of a file of checks, which may have accepted a suggestion
        suggested = [_suggestion_request(one) for one in self.found.suggested if one.assertion not in names]
        of_one = sum(len(shares_of(kind)) for kind in self.kinds)
        for at, window in enumerate(last):
            self._challenge(window, at, suggested, lambda done, at=at: told(at * of_one + done, len(last) * of_one))  # type: ignore[misc]
            self._learn(window)
        return self.found

    @property
    def _past(self) -> Past:
        return self._thawing.past

    def _learn(self, window: ChallengedWindow) -> None:
        """A window that is novel is no past of the next ones; it joins after some more, as nobody calls it wrong."""
        profile = window.profile_of(window.rows)
        kept = window.rows if window.rows.num_rows <= KEYS_UP_TO else None
        shown = None if kept is None else kept.drop_columns(list(window.hidden))
        self._suggesting.append(SuggestedWindow(key=window.moment.key, profile=profile, rows=shown))
        is_novel = judge(profile, self._past, day=window.day).is_novel
        answer = Answer.NONE if is_novel else Answer.ACCEPTED
        self._thawing = self._thawing.with_window(window.moment.key, profile, answer, window.day)
        self._before = window.rows
        if not is_novel:
            self.verifier.join(self.asked, window.rows, window.moment)

    def _challenge(
        self, window: ChallengedWindow, at: int, suggested: Sequence[Asked], told: Callable[[int], None]
    ) -> None:
        everything = [*self.asked, *suggested]
        said = self.verifier.said(everything, window.rows, window.moment)
        self._note_unjudged(window.moment.key, said)
        verdict = judge(window.profile_of(window.rows), self._past, day=window.day)
        novel = None if verdict.status is NoveltyStatus.LEARNING else verdict.is_novel
        alarms = {name for name, one in said.items() if one.status is ConstraintStatus.FAILURE}
        self.found.sound.append(
            Sound(window=window.moment.key, rows=window.rows.num_rows, novel=novel, **_told_apart(everything, alarms))
        )
        quiet = [each for each in everything if said[each.name].status is ConstraintStatus.SUCCESS]
        number = 0
        for kind in self.kinds:
            for place, share in enumerate(shares_of(kind)):
                seed = (self.seed * 1000 + at) * len(SHARES) + place
                self._try(window, kind, share, seed, quiet, sound=novel)
                number += 1
                told(number)

    def _note_unjudged(self, key: str, said: Mapping[str, Said]) -> None:
        """Of tests that no window could be judged by; what was still learning may be judged in a later one."""
        is_first = not self.found.sound
        for name in [each.name for each in self.asked]:
            if said[name].is_known:
                self.found.unjudged.pop(name, None)
            elif is_first:
                self.found.unjudged[name] = f"{key}: {said[name].message}"

    def _try(
        self,
        window: ChallengedWindow,
        kind: ErrorKind,
        share: float,
        seed: int,
        quiet: Sequence[Asked],
        *,
        sound: bool | None,
    ) -> None:
        """One spoilt copy: what was quiet about the sound window, and speaks now, has caught it.

        ``sound`` is what novelty said of the window; None while it learns.
        """
        held = [name for name in self.fixed if name in window.rows.column_names]
        before = None if self._before is None else self._before.drop_columns(held)
        injected = inject(window.rows.drop_columns(held), kind, share, seed, before)
        if not injected.changed:
            return
        rows = _with_fixed(injected.table, window.rows, held)
        said = self.verifier.said(quiet, rows, window.moment)
        broken = {name for name, one in said.items() if one.status is ConstraintStatus.FAILURE}
        novel = None if sound is None else False
        if sound is False:
            novel = judge(window.profile_of(rows), self._past, day=window.day).is_novel
        self.found.trials.append(
            Trial(
                window=window.moment.key,
                kind=kind,
                share=share,
                columns=injected.columns,
                rows=injected.rows,
                novel=novel,
                **_told_apart(quiet, broken),
            )
        )


def _told_apart(asked: Sequence[Asked], names: set[str]) -> dict[str, tuple[str, ...]]:
    """The names that tests have, and those that suggestions have."""
    return {
        part: tuple(each.name for each in asked if each.name in names and each.is_suggested is is_suggested)
        for part, is_suggested in (("tests", False), ("suggestions", True))
    }


def _suggestion_request(one: Suggestion) -> Asked:
    check = Check().holds(one.assertion)
    return Asked(name=one.assertion, check=lambda _: check, has_past=has_past(one.assertion), is_suggested=True)


def _with_fixed(rows: pa.Table, before: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows with columns that have one value in a window, as that of its partition; each in its place."""
    for name in names:
        at = before.schema.get_field_index(name)
        value = before.column(at)[0] if len(before) else None
        rows = rows.add_column(at, before.schema.field(at), pa.repeat(value, len(rows)))
    return rows


# The live tests of a dataset as assertions on copies of its windows, and what these read of other datasets.


@dataclass(frozen=True, kw_only=True)
class LiveTests:
    """Those that can be judged, and why the others cannot, by their names."""

    asked: tuple[Asked, ...]
    unjudged: Mapping[str, str]


def live_tests(dataset: Dataset) -> LiveTests:
    """Every test that is not retired, standard ones and those of users."""
    tests = DataTest.objects.filter(dataset=dataset, retired_at__isnull=True, revision__isnull=False)
    asked, unjudged = [], {}
    for test in tests.select_related("dataset", "revision").order_by("name"):
        why = _why_not(test)
        if why is None:
            asked.append(_test_request(test))
        else:
            unjudged[test.name] = why
    return LiveTests(asked=tuple(asked), unjudged=unjudged)


def _why_not(test: DataTest) -> str | None:
    assert test.revision is not None
    partitioning, here = test.dataset.partitioning, home(test.dataset).datacenter
    assert partitioning is not None
    if test.category == Category.NOVELTY:
        return JUDGED_ANYWAY
    if test.scope == Scope.TABLE:
        return WHOLE_TABLE
    if test.datacenter != here:
        return OTHER_PLACE.format(test.datacenter, here)
    assertion = test.revision.assertion
    if (why := why_not(assertion)) is not None:
        return why
    try:
        Check().holds(for_window(assertion, partitioning.at(test.created_at), partitioning))
    except (UnableToAssert, UnableToRender) as error:
        return str(error)
    return next(_unread(beside(assertion)), None)


def _unread(others: Beside) -> Iterator[str]:
    """Why another dataset cannot be read."""
    for name in sorted(others.windows | others.whole):
        try:
            _files_named(name)
        except UnableToRun as error:
            yield str(error)


def _files_named(name: str) -> tuple[Dataset, Table]:
    dataset = by_name(name)
    if dataset is None:
        raise UnableToRun(f"there is no dataset {name}")
    return dataset, files_of(dataset)


def _test_request(test: DataTest) -> Asked:
    assert test.revision is not None
    assertion, partitioning = test.revision.assertion, test.dataset.partitioning
    assert partitioning is not None

    def check(moment: Moment) -> Check:
        return Check().holds(for_window(assertion, partitioning.window(moment.key), partitioning))

    written = for_window(assertion, None, None)
    return Asked(name=test.name, check=check, has_past=has_past(written), beside=beside(assertion))


def moment_of(window: Window, partitioning: Partitioning) -> Moment:
    """The moment of a partition, by the dataset's own clock, so that steps of days find their days."""
    local = window.start.astimezone(partitioning.zone)
    return Moment(key=partitioning.key(window), at=local.replace(tzinfo=UTC))


@dataclass(kw_only=True)
class Upstreams:
    """Sound windows of other datasets, each written once into the folder of the copies."""

    folder: Path
    partitioning: Partitioning
    _written: dict[tuple[str, str], Path | None] = field(default_factory=dict)

    def __call__(self, others: Beside, moment: Moment) -> dict[str, Table | Path]:
        """What an assertion reads beside the copy of a window; a dataset that has no rows there is left out."""
        whole: dict[str, Table | Path] = {name: _files_named(name)[1] for name in others.whole}
        windows = {name: self._window_of(name, moment) for name in others.windows}
        return whole | {name: path for name, path in windows.items() if path is not None}

    def _window_of(self, name: str, moment: Moment) -> Path | None:
        if (name, moment.key) not in self._written:
            dataset, table = _files_named(name)
            try:
                rows = rows_of(dataset, table, self.partitioning.window(moment.key))
            except UnableToListFiles as error:
                raise UnableToRun(str(error.failure.detail)) from None
            path = self.folder / f"beside-{len(self._written)}.parquet"
            if rows is not None:
                pq.write_table(rows, path)
            self._written[name, moment.key] = None if rows is None else path
        return self._written[name, moment.key]
