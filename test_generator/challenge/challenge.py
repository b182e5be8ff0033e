"""A challenge: copies of a table's last windows are spoilt, and tests, suggestions and novelty are asked about each."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from execution_engine.novelty.days import Day
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past
from execution_engine.novelty.thaw import Answer, ThawingPast
from execution_engine.novelty.verdict import Status
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import Profile
from execution_engine.verification import Check, ConstraintStatus
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

from .fitness import has_past
from .injector import SHARES, ErrorKind, inject, shares_of
from .tally import Trial
from .verifying import Asked, Moment, Said, Verifier

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
        suggested = [_asked(one) for one in self.found.suggested if one.assertion not in names]
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
        novel = None if verdict.status is Status.LEARNING else verdict.is_novel
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


def _asked(one: Suggestion) -> Asked:
    check = Check().holds(one.assertion)
    return Asked(name=one.assertion, check=lambda _: check, has_past=has_past(one.assertion), is_suggested=True)


def _with_fixed(rows: pa.Table, before: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows with columns that have one value in a window, as that of its partition; each in its place."""
    for name in names:
        at = before.schema.get_field_index(name)
        value = before.column(at)[0] if len(before) else None
        rows = rows.add_column(at, before.schema.field(at), pa.repeat(value, len(rows)))
    return rows
