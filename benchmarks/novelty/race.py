"""All contenders judge the same batches of a table, each given what came before."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean, median
from time import process_time
from typing import Any

from execution_engine.novelty.days import Day
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past, ThawingPast, WindowAnswer
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile, merged_profiles
from test_generator.challenge.injector import ErrorKind

from .contenders import CONTENDERS, Accepted, Contender
from .tables import Batches
from .trials import FIRST, Trial, judged_at, trials_of

OURS = "ours"
Cell = tuple[ErrorKind, float]  # an error in a share of the rows


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one contender said of one table: of sound batches, and by error and share of rows."""

    table: str
    contender: str
    sound: list[bool] = field(default_factory=list)  # of every batch from the ninth on, each of which joins the past
    unanswered: list[bool] = field(default_factory=list)  # of the same where nobody answers an alarm; of ours alone
    spoilt: dict[Cell, list[bool]] = field(default_factory=lambda: defaultdict(list))
    milliseconds: list[float] = field(default_factory=list)  # of CPU, of each verdict

    @property
    def false_alarms(self) -> float:
        """The share of sound batches that it calls novel."""
        return mean(self.sound)

    def auc(self, cell: Cell) -> float:
        """(share of spoilt batches that are flagged + share of sound ones that are accepted) / 2."""
        return (mean(self.spoilt[cell]) + 1 - self.false_alarms) / 2

    def mean_auc(self, kinds: Sequence[ErrorKind]) -> float:
        """Over errors and shares of rows, each with the same weight."""
        return mean(self.auc(cell) for cell in self.spoilt if cell[0] in kinds)

    @property
    def cost(self) -> float:
        """The median CPU of a verdict, in milliseconds."""
        return median(self.milliseconds)


def race(
    batches: Batches, every: int, kinds: tuple[ErrorKind, ...], seed: int, names: Sequence[str] = tuple(CONTENDERS)
) -> list[Found]:
    """Each sound batch from the ninth on, and every so many of them with each error in each share of its rows."""
    profiles = [gathered_profile([table]) for table in batches.tables]
    found = {name: Found(table=batches.name, contender=name) for name in names}
    spoilt_at = set(judged_at(len(profiles), every))
    accepted = Accepted(past=Past(), pooled=TableProfile(rows=0))
    for at, profile in enumerate(profiles):
        accepted = replace(accepted, day=batches.days[at])
        trials = []
        if at in spoilt_at:
            trials = list(trials_of(batches.tables[at], batches.tables[at - 1], kinds, seed + at))
        if at >= FIRST:
            _ = accepted.past.scores  # kept between verdicts, as it is of the past alone
            for trial in trials or [Trial(profile=profile)]:
                for name in names:
                    _judge(found[name], CONTENDERS[name], trial, accepted)
        accepted = _joined(accepted, profile)
    if OURS in found:
        found[OURS].unanswered.extend(alarms_without_answers(profiles, batches.days))
    return list(found.values())


def alarms_without_answers(profiles: Sequence[TableProfile], days: Sequence[Day | None]) -> list[bool]:
    """Which sound batches from the ninth on are novel, where nobody ever says that one is right or wrong."""
    thawing, found = ThawingPast(), []
    for at, (profile, day) in enumerate(zip(profiles, days, strict=True)):
        is_novel = judge(profile, thawing.past, day=day).is_novel
        found.append(is_novel)
        thawing = thawing.with_window(at, profile, WindowAnswer.NONE if is_novel else WindowAnswer.ACCEPTED, day)
    return found[FIRST:]


def _judge(found: Found, contender: Contender, trial: Trial, accepted: Accepted) -> None:
    began = process_time()
    is_novel = contender(trial.profile, accepted)
    found.milliseconds.append(1e3 * (process_time() - began))
    if trial.kind is None or trial.share is None:
        found.sound.append(is_novel)
    else:
        found.spoilt[trial.kind, trial.share].append(is_novel)


def _joined(accepted: Accepted, profile: TableProfile) -> Accepted:
    parts = [accepted.pooled, profile] if accepted.pooled.columns else [profile]
    return replace(accepted, past=accepted.past.joined(profile, day=accepted.day), pooled=merged_profiles(parts))


def from_json(said: Mapping[str, Any]) -> Found:
    """What ``as_json`` wrote."""
    found = Found(table=said["table"], contender=said["contender"], milliseconds=[said["verdict_ms"]])
    found.sound.extend(_said(said["sound_flagged"], said["sound"]))
    found.unanswered.extend(_said(said.get("unanswered_flagged", 0), said.get("unanswered", 0)))
    for cell in said["errors"]:
        found.spoilt[ErrorKind(cell["kind"]), cell["share"]] = _said(cell["flagged"], cell["of"])
    return found


def _said(flagged: int, of: int) -> list[bool]:
    return [True] * flagged + [False] * (of - flagged)


def as_json(found: Found) -> Mapping[str, Any]:
    """Counts of what it said."""
    cells = [
        {"kind": kind, "share": share, "flagged": sum(said), "of": len(said)}
        for (kind, share), said in found.spoilt.items()
    ]
    return {
        "table": found.table,
        "contender": found.contender,
        "sound_flagged": sum(found.sound),
        "sound": len(found.sound),
        "unanswered_flagged": sum(found.unanswered),
        "unanswered": len(found.unanswered),
        "verdict_ms": round(found.cost, 2),
        "errors": cells,
    }
