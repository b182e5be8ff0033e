"""May I use this? What the gate would say of a range of one dataset that a reader chooses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assay.catalog.asked_window import latest_ended
from assay.models import Dataset
from assay.time.windows import Partitioning, UnableToPartition, UnableToReadWindow, Window
from incident_manager.gate.rules import Because, GateDecision
from incident_manager.quality.now import facts_now
from incident_manager.quality.rules import AskedRange, ReasonKind, Status, judge
from incident_manager.services import ToRead, foresee
from web.shown.partitions import INSTANT, keys_of
from web.shown.reasons import folded
from web.shown.words import in_english

OFFERED = 60  # partitions whose keys are offered while one types
SPANS = (1, 7, 28)  # of the last partitions, one click away
MOST_REASONS = 8
SAID = {  # an icon, the answer in a word, and what the gate does
    GateDecision.ALLOW: ("pass", _("Yes"), _("The gate lets a pipeline read %(keys)s.")),
    GateDecision.WARN: ("warn", _("With care"), _("The gate warns a pipeline that reads %(keys)s.")),
    GateDecision.BLOCK: ("fail", _("No"), _("The gate stops a pipeline that reads %(keys)s.")),
}
UNTESTED = (
    "untested",
    _("Not tested"),
    _("The gate lets a pipeline read %(keys)s, but no test has judged all of it."),
)
NOT_JUDGED = {ReasonKind.UNTESTED, ReasonKind.NO_TEST}


@dataclass(frozen=True, kw_only=True)
class WantedRange:
    """From the first to the last partition by their keys, or the last so many; empty: the last one that has ended."""

    first: str = ""
    last: str = ""
    span: int = 1
    datacenter: str = ""


@dataclass(frozen=True, kw_only=True)
class UseReason:
    """One reason, and the partitions that it is about."""

    because: Because
    keys: str


@dataclass(frozen=True, kw_only=True)
class MayUse:
    """The answer on a range; without a decision the range could not be read, and ``error`` says why."""

    first: str
    last: str
    keys: str
    datacenter: str
    places: Sequence[str]
    offered: Sequence[str]
    span: int | None = None  # the range is that of the last so many partitions
    decision: GateDecision | None = None
    reasons: Sequence[UseReason] = ()
    more: int = 0  # reasons that are not listed
    error: str = ""
    is_untested: bool = False  # the gate lets through what nothing has judged: that is no Yes

    @property
    def said(self) -> tuple[str, str, str]:
        """An icon, a word and a sentence."""
        if self.decision is None:
            return "unknown", gettext("Which range?"), in_english(self.error)
        look, word, sentence = UNTESTED if self.is_untested else SAID[self.decision]
        return look, str(word), sentence % {"keys": self.keys}


def may_use(dataset: Dataset, wanted: WantedRange, *, now: datetime) -> MayUse | None:
    """What the gate would answer now; None where there is nothing to read."""
    places = [replica.datacenter for replica in dataset.replicas.all()]
    if not places:
        return None
    partitioning = dataset.partitioning
    ended = latest_ended(dataset, now)
    offered = _keys_before(partitioning, ended) if partitioning else ()
    place = wanted.datacenter if wanted.datacenter in places else places[0]
    is_asked = bool(partitioning and (wanted.first or wanted.last))
    try:
        window = _range(partitioning, wanted, ended) if partitioning else ended
        window.taken()
    except (UnableToPartition, UnableToReadWindow) as unable:
        return MayUse(
            first=wanted.first,
            last=wanted.last,
            keys="",
            datacenter=place,
            places=places,
            offered=offered,
            error=str(unable),
        )
    answer = foresee([ToRead(dataset=dataset, window=window, datacenter=place)], now=now)
    reasons = folded(answer.reasons)
    shown = [UseReason(because=each, keys=keys_of(each.window, partitioning)) for each in reasons[:MOST_REASONS]]
    return MayUse(
        first=partitioning.key(partitioning.at(window.start)) if partitioning else "",
        last=partitioning.key(partitioning.at(window.end - INSTANT)) if partitioning else "",
        keys=keys_of(window, partitioning),
        datacenter=place,
        places=places,
        offered=offered,
        span=None if is_asked else wanted.span,
        decision=answer.decision,
        reasons=shown,
        more=len(reasons) - len(shown),
        is_untested=answer.decision is GateDecision.ALLOW
        and any(each.kind in NOT_JUDGED for each in reasons)
        and _is_untested(dataset, AskedRange(window=window, datacenter=place), now=now),
    )


def _is_untested(dataset: Dataset, asked: AskedRange, *, now: datetime) -> bool:
    """Whether a part of it was judged by no test at all: one of several tests may have begun later."""
    return judge(facts_now({dataset.pk: dataset.full_name}, now=now)[dataset.pk], asked).status is Status.UNTESTED


def _range(partitioning: Partitioning, wanted: WantedRange, ended: Window) -> Window:
    """From the start of the first to the end of the last partition; one key alone names one partition."""
    if not wanted.first and not wanted.last:
        first = partitioning.previous(ended, wanted.span - 1)[0] if wanted.span > 1 else ended
        return Window(start=first.start, end=ended.end)
    first, last = partitioning.window(wanted.first or wanted.last), partitioning.window(wanted.last or wanted.first)
    if last.start < first.start:
        raise UnableToReadWindow(f"The range ends with {wanted.last} before it starts with {wanted.first}.")
    return Window(start=first.start, end=last.end)


def _keys_before(partitioning: Partitioning, ended: Window) -> tuple[str, ...]:
    """The keys of the last partitions, the newest first."""
    windows = (*partitioning.previous(ended, OFFERED - 1), ended)
    return tuple(partitioning.key(window) for window in reversed(windows))
