"""How unlike the batches before it a window's rows are, by what is kept of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from execution_engine.language.tree import History
from execution_engine.novelty.terms import FURTHER_WINDOWS
from execution_engine.novelty.verdict import Cause, Status, Verdict
from execution_engine.outcome import Failure, Reason

if TYPE_CHECKING:
    from execution_engine.novelty.days import Day
    from execution_engine.novelty.past import Past
    from execution_engine.profiles.profile import Profile

NOVEL = "novelty"  # in the findings of a verdict: what moved in each operand
MOST_SAID = 3  # causes in a sentence
MOST_TOLD = 10  # in the findings
MOST_DRAWN = 3  # of which the past is told too


@dataclass(frozen=True, kw_only=True, eq=False)
class BesidePast:
    """A batch and the accepted ones before it; ``windows`` are the keys of the last of these, in their order."""

    profile: "Profile"
    past: "Past"
    windows: Sequence[str]
    may_be_empty: bool = False  # no rows are no news
    day: "Day | None" = None  # of the batch
    novel_before: int = 0  # windows in a row directly before it that are novel, and that nobody has answered


@dataclass(frozen=True, kw_only=True, eq=False)
class Novelty:
    """The verdict on a batch as a number: above 1 it is novel."""

    metric: str
    verdict: Verdict
    batches: int
    method: str
    drawn: Mapping[int, list[list[Any]]]
    novel_before: int = 0

    @property
    def score(self) -> float:
        """The score in units of the threshold; where the threshold is 0, 1 and the score, or 0."""
        assert self.verdict.score is not None
        assert self.verdict.threshold is not None
        if self.verdict.threshold:
            return self.verdict.score / self.verdict.threshold
        return 1 + self.verdict.score if self.verdict.is_novel else 0.0

    @property
    def sentence(self) -> str:
        """What moved most; empty where the batch is like those before it."""
        if not self.verdict.causes:
            return ""
        said = "; ".join(cause.text for cause in self.verdict.causes[:MOST_SAID])
        more = len(self.verdict.causes) - MOST_SAID
        sentence = f"unlike the {self.batches} windows before: {said}{f'; and {more} more' if more > 0 else ''}"
        if self.novel_before >= FURTHER_WINDOWS:
            sentence += f"; {self.novel_before + 1} novel windows in a row: has the table changed?"
        return sentence

    @property
    def finding(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "metric": self.metric,
            "method": self.method,
            "windows": self.batches,
            "score": self.verdict.score,
            "threshold": self.verdict.threshold,
            "notes": list(self.verdict.notes),
            "causes": [
                {**_told(cause), "past": self.drawn.get(at, [])}
                for at, cause in enumerate(self.verdict.causes[:MOST_TOLD])
            ],
        }


def novelty(history: History, given: BesidePast) -> Novelty | Failure:
    """The verdict on the window, or that too few before it were accepted."""
    from execution_engine.novelty.judge import judge, without_secrets  # with it scipy, for what asks for novelty

    found = judge(given.profile, given.past, history.method, day=given.day)
    if given.may_be_empty and not given.profile.rows:
        found = Verdict(status=Status.LIKE, score=0.0, threshold=1.0)
    found = replace(found, causes=tuple(without_secrets(cause, given.profile) for cause in found.causes))
    known = len(given.past.batches)
    if found.status is Status.LEARNING or known < history.needed:
        detail = f"{history.text} has {known} of the {history.needed} accepted windows it needs; wait for more"
        return Failure(reason=Reason.WARMING_UP, detail=detail)
    drawn = {at: _past_of(cause, given) for at, cause in enumerate(found.causes[:MOST_DRAWN])}
    return Novelty(
        metric=history.metric.call,
        verdict=found,
        batches=known,
        method=history.method.value,
        drawn=drawn,
        novel_before=given.novel_before,
    )


def _past_of(cause: Cause, given: BesidePast) -> list[list[Any]]:
    """The statistic in the windows before, by their keys; none where nothing was measured."""
    count = min(len(cause.before), len(given.windows))
    pairs = zip(given.windows[len(given.windows) - count :], cause.before[len(cause.before) - count :], strict=True)
    return [[window, value] for window, value in pairs if isfinite(value)]


def _told(cause: Cause) -> dict[str, Any]:
    return {
        "column": cause.column,
        "statistic": cause.statistic,
        "shown": cause.shown.value,
        "value": cause.value,
        "expected": cause.expected,
        "low": cause.low,
        "high": cause.high,
        "z": cause.z if isfinite(cause.z) else None,
        "new": [str(value) for value in cause.new_values],
        "text": cause.text,
    }
