"""The year's figures as tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from assay.time.windows import Window

from .tally import Alarm, BadTime, Tally, by_kind, false_days, tally

AIM = 0.9
HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Year:
    """What a year came to; ``days`` of it had a partition."""

    bad: Sequence[BadTime]
    alarms: Sequence[Alarm]
    days: int
    hiccups: int
    accepted: int
    tests: int
    scans: int
    messages: int

    def told(self) -> list[Alarm]:
        """The alarms that somebody heard of: not those that another trouble explains, or that ended before."""
        return [alarm for alarm in self.alarms if alarm.told]


def year_of(found: Mapping[str, Any], days: int) -> Year:
    """From what a run has printed; alarms of days after the last partition are left out."""
    bad = [
        BadTime(day=date.fromisoformat(one["day"]), kind=one["kind"], share=one["share"], time=_time(one))
        for one in found["faults"]
    ]
    last = found["last_day"]
    alarms = [
        Alarm(day=date.fromisoformat(one["day"]), category=one["category"], time=_time(one), told=one["told"])
        for one in found["alarms"]
        if one["day"] <= last
    ]
    counts = {name: found[name] for name in ("hiccups", "tests", "scans", "messages")}
    return Year(bad=bad, alarms=alarms, days=days, accepted=len(found["accepted"]), **counts)


def _time(one: Mapping[str, str]) -> Window:
    return Window(start=datetime.fromisoformat(one["start"]), end=datetime.fromisoformat(one["end"]))


def markdown(on: str, seed: int, year: Year, unsustained: Year, kept: Year) -> str:
    """All tables: of the year, and of the same year without sustain and with wrong rules kept."""
    head = (
        f"Measured on {on}. Seed {seed}: {year.days} partitions, {len(year.bad)} with a fault, {year.hiccups} with a "
        f"hiccup; {year.tests} live tests, of which {year.accepted} were suggestions; {year.scans:,} scans."
    )
    return "\n\n".join([head, _overall(year, unsustained, kept), _by_kind(year), _by_category(year)])


def _overall(year: Year, unsustained: Year, kept: Year) -> str:
    rows = [
        ("as it is", year, year.told(), str(year.messages)),
        ("without inhibition", year, list(year.alarms), ""),
        ("without sustain", unsustained, unsustained.told(), str(unsustained.messages)),
        ("without either", unsustained, list(unsustained.alarms), ""),
        ("wrong rules kept", kept, kept.told(), str(kept.messages)),
    ]
    lines = [
        "| | faults found | recall | precision | hours to the alarm | days alarmed for nothing | alarms | messages |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, one, alarms, messages in rows:
        found = tally(one.bad, alarms)
        pairs = {(alarm.day, alarm.category) for alarm in alarms}
        counts = f"{len(false_days(one.bad, alarms))} | {len(pairs)} | {messages}"
        lines.append(f"| {name} | {_figures(found)} | {counts} |")
    return "\n".join(lines)


def _by_kind(year: Year) -> str:
    lines = ["| kind of fault | faults found | recall | precision | hours to the alarm |", "|---|---|---|---|---|"]
    for kind, found in by_kind(year.bad, year.told(), lambda one: one.kind).items():
        lines.append(f"| {kind} | {_figures(found)} |")
    lines += ["", "| share of rows | faults found | recall | precision | hours to the alarm |", "|---|---|---|---|---|"]
    for share, found in by_kind(year.bad, year.told(), lambda one: f"{one.share:5.0%}").items():
        lines.append(f"| {share.strip()} | {_figures(found)} |")
    return "\n".join(lines)


def _by_category(year: Year) -> str:
    lines = ["| category of test | faults found | days alarmed for nothing | hours alarmed | of them right |"]
    lines.append("|---|---|---|---|---|")
    counts = Counter(alarm.category for alarm in year.alarms)
    for category, _ in counts.most_common():
        alarms = [alarm for alarm in year.alarms if alarm.category == category]
        found = tally(year.bad, alarms)
        false = len(false_days(year.bad, alarms))
        lines.append(
            f"| {category} | {found.found} of {found.faults} | {false} | {found.alarmed / HOUR:,.0f} "
            f"| {_share(found.precision)} |"
        )
    return "\n".join(lines)


def _figures(found: Tally) -> str:
    waited = "" if found.seconds_to_alarm is None else f"{found.seconds_to_alarm / 3600:.1f}"
    return f"{found.found} of {found.faults} | {_share(found.recall)} | {_share(found.precision)} | {waited}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
