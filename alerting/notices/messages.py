"""The text of notices, for people who are woken by it: what is broken, since when, what follows, what to do."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assay.time.windows import Window

MOST_LINES = 10
HIDDEN = "only its readers may see its values"
ENDINGS = {
    "forced": "a user called it a false positive: the data is right, and the test was wrong",
    "accepted": "a user accepted the data as it is, and nobody will repair it",
    "redefined": "the test was changed, and the data holds by the new test",
}
TITLES = {"forced": "false positive"}


@dataclass(frozen=True, kw_only=True)
class BrokenWindow:
    """One broken window; ``partition`` names it, and ``value`` says what is wrong, its assertion included."""

    test: str
    partition: str
    window: Window
    value: str
    datacenter: str | None = None
    lost_keys: int | None = None
    share: float | None = None  # of its rows that are there, where its test says so


@dataclass(frozen=True, kw_only=True)
class InhibitedAlert:
    """An alert that stays silent because the told one causes it."""

    dataset: str
    category: str
    value: str
    lost_keys: int | None = None


@dataclass(frozen=True, kw_only=True)
class IncidentText:
    """What a notice says of an incident; ``tests`` and ``partitions`` lead it, also once their windows are healed."""

    dataset: str
    category: str
    tier: int
    owner: str
    failed_at: datetime
    windows: tuple[BrokenWindow, ...]
    headline: str = ""  # what is wrong, in a sentence, as the page has it; empty where no test says so
    tests: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    is_owner_reached: bool = True  # by more than the log
    inhibited: tuple[InhibitedAlert, ...] = ()
    eta: datetime | None = None
    root_cause: str = ""
    working: str = ""  # who works on it, or is asked to, as a sentence
    slices: str = ""  # which rows explain it, in sentences; empty where none do, or nobody knows yet
    apart: tuple[str, ...] = ()  # what else fails and does not explain it, each with the reason
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Message:
    """A notice's text: a title of one line, and a plain-text body."""

    title: str
    body: str


def led_by(incident: IncidentText, windows: Sequence[BrokenWindow]) -> IncidentText:
    """The incident with the tests and partitions of these of its windows as those that lead its messages."""
    return replace(
        incident,
        tests=tuple(dict.fromkeys(window.test for window in windows)),
        partitions=tuple(dict.fromkeys(window.partition for window in windows)),
    )


def redact_incident(incident: IncidentText, *, hidden: Collection[str]) -> IncidentText:
    """The incident for somebody who may not read what is said of the ``hidden`` datasets: that they fail, no value."""
    windows = tuple(replace(w, value=HIDDEN, lost_keys=None, share=None) for w in incident.windows)
    return replace(
        incident,
        windows=windows if incident.dataset in hidden else incident.windows,
        headline="" if incident.dataset in hidden else incident.headline,
        slices="" if incident.dataset in hidden else incident.slices,
        apart=() if incident.dataset in hidden else incident.apart,
        root_cause=HIDDEN if incident.root_cause and incident.dataset in hidden else incident.root_cause,
        inhibited=tuple(
            replace(alert, value=HIDDEN, lost_keys=None) if alert.dataset in hidden else alert
            for alert in incident.inhibited
        ),
    )


def opened(incident: IncidentText) -> Message:
    """What the owner reads when an incident opened, and again whenever it changes."""
    lines = [incident.working, ""] if incident.working else []
    lines += [*_first_lines(incident), ""]
    lines += _window_lines(incident)
    lines += ["", f"Which rows: {incident.slices}"] if incident.slices else []
    if incident.apart:
        lines += ["", "It is told apart from what else fails:", *_listed(incident.apart)]
    if incident.inhibited:
        lines += ["", "It causes these incidents; their owners get no notice of their own:"]
        lines += _listed(
            [f"{alert.dataset} {alert.category}: {alert.value}{_lost(alert.lost_keys)}" for alert in incident.inhibited]
        )
    lines += ["", *_outlook(incident)]
    return _message(f"{_lead(incident, 'fails', 'fail')}: {_of(incident)}", lines)


def also_fails(incident: IncidentText, *, tests: Collection[str]) -> Message:
    """What the owner reads when ``tests`` begin to fail while the incident is open: these, then all of the opening."""
    new = tuple(window for window in incident.windows if window.test in tests)
    others = tuple(window for window in incident.windows if window.test not in tests)
    leading = led_by(replace(incident, windows=(*new, *others)), new)
    now = opened(leading)
    lines = [f"Since the last message {_lead(leading, 'fails', 'fail')} too.", "", *now.body.splitlines()]
    return _message(f"{_lead(leading, 'fails', 'fail')} too: {_of(incident)}", lines)


def assigned(incident: IncidentText, *, author: str) -> Message:
    """What somebody reads whom ``author`` asks to work on it."""
    now = opened(replace(incident, working=""))
    return _message(f"{now.title}, assigned to you", [f"{author} asks you to work on it.", "", *now.body.splitlines()])


def assigned_report(dataset: str, *, author: str, tier: int, url: str) -> Message:
    """The same of what a user has reported: no test has a word on it."""
    lines = [f"{author} asks you to work on it: a user says that {dataset} is bad.", f"Details: {url}"]
    return _message(f"[tier {tier}] {dataset}: reported as bad, assigned to you", lines)


def renamed(incident: IncidentText) -> Message:
    """What the owner reads whose incident is found to be of another kind: rows are missing, or come after all."""
    is_late = incident.category == "freshness"
    what = "late, and more of them have come" if is_late else "missing"
    shares = [window.share for window in incident.windows if window.share is not None]  # of the rows that are there
    share = f": {math.floor(min(shares) * 1000) / 10:g} % are there" if shares else ""
    lines = [
        f"The rows of {incident.dataset} are not {'missing' if is_late else 'late'}; they are {what}{share}.",
        "",
        *opened(incident).body.splitlines(),
    ]
    what = f"rows of {incident.dataset} are {'late' if is_late else 'missing'}"
    return _message(f"{_lead(incident)}: {what} (tier {incident.tier})", lines)


def downstream(incident: IncidentText, *, downstreams: Sequence[str]) -> Message:
    """What the owner of the direct downstreams reads, once."""
    owner = f"Its owner, {incident.owner}, was told."
    if not incident.is_owner_reached:
        owner = f"No channel but the log reaches its owner, {incident.owner}: nobody there was told."
    lines = [
        *_first_lines(incident),
        f"It feeds {', '.join(downstreams) or 'your data'}. {owner}",
        "",
        *_window_lines(incident),
        "",
        *_outlook(incident),
    ]
    return _message(f"{_lead(incident, 'fails', 'fail')}: upstream {_of(incident)}", lines)


def follower_message(incident: IncidentText) -> Message:
    """What those read who follow the dataset."""
    now = opened(incident)
    lines = [*now.body.splitlines(), "", f"You follow {incident.dataset}; the button on its page ends that."]
    return _message(now.title, lines)


def recovered(incident: IncidentText, *, resolved_at: datetime) -> Message:
    """What everybody who was told reads when the data is right again."""
    lines = [
        f"{incident.dataset} has held {incident.category} again since {_time(resolved_at)}. "
        f"It had failed since {_time(incident.failed_at)}.",
        *_link(incident),
    ]
    return _message(f"{_lead(incident, 'holds again', 'hold again')}: {_of(incident)}", lines)


def withdrawn(incident: IncidentText, *, withdrawn_at: datetime) -> Message:
    """What everybody who was told reads when late results, a retirement or retention left nothing to be told of."""
    lines = [
        f"The {incident.category} incident of {incident.dataset} from {_time(incident.failed_at)} was withdrawn "
        f"at {_time(withdrawn_at)}: there is no longer a reason for it. Nobody needs to repair anything.",
        *_link(incident),
    ]
    return _message(f"{_lead(incident)} withdrawn: {_of(incident)}", lines)


def ended(incident: IncidentText, *, ended_at: datetime, how: str) -> Message:
    """What everybody who was told reads when a word ended the incident, and not a repair."""
    lines = [
        f"The {incident.category} incident of {incident.dataset} from {_time(incident.failed_at)} was ended "
        f"at {_time(ended_at)}: {ENDINGS[how]}. Assay saw no repair.",
        *_link(incident),
    ]
    return _message(f"{_lead(incident)} ended ({TITLES.get(how, how)}): {_of(incident)}", lines)


def unknown(*, dataset: str, test: str, partition: str, since: datetime, reason: str) -> Message:
    """What the on-call or the owner reads when a test could not be judged."""
    lines = [
        f"The test {test} of {dataset} has had no verdict for {partition} since {_time(since)}.",
        f"Cause: {reason.rstrip('.')}. This says nothing about the data.",
    ]
    return _message(f"{test} could not be judged for {partition}: {dataset}", lines)


def judgeable_message(*, dataset: str, test: str, partition: str, at: datetime, now_is: str) -> Message:
    """Tells people that a test can be judged again, who were told that it could not; ``now_is`` says what it found."""
    lines = [f"Since {_time(at)} the test {test} of {dataset} {now_is} for {partition}."]
    return _message(f"{test} can be judged again for {partition}: {dataset}", lines)


def digest(messages: Sequence[Message]) -> Message:
    """Several messages to one recipient as one: the first ones whole, then titles, then how many more there are."""
    if len(messages) == 1:
        return messages[0]
    body = "\n".join(f"== {message.title}\n{message.body}" for message in messages[:MOST_LINES])
    if rest := messages[MOST_LINES:]:
        body += "\n" + "\n".join(["== Also:", *_listed([message.title for message in rest])]) + "\n"
    return Message(title=f"{messages[0].title} (and {len(messages) - 1} more)", body=body)


def _lead(incident: IncidentText, verb: str = "", plural: str = "") -> str:
    """The tests and partitions that a message begins with, and what they do: ``paid fails for 2026-03-09``."""
    tests = incident.tests or (incident.category,)
    more = len(tests) - 1
    who = f"{tests[0]} and {more} more test{'s' if more > 1 else ''}" if more else tests[0]
    does = [plural if len(tests) > 1 else verb] if verb else []
    keys = incident.partitions
    when = [f"for {keys[0]}" + (f" and {len(keys) - 1} more" if len(keys) > 1 else "")] if keys else []
    return " ".join([who, *does, *when])


def _of(incident: IncidentText) -> str:
    return f"{incident.dataset} ({incident.category}, tier {incident.tier})"


def _first_lines(incident: IncidentText) -> list[str]:
    """What is wrong in a sentence, as the page has it, and what has failed since when."""
    since = f"{incident.dataset} has failed {incident.category} since {_time(incident.failed_at)}."
    return [incident.headline, since] if incident.headline else [since]


def _window_lines(incident: IncidentText) -> list[str]:
    """A line for each window, the first of each test before all others, so that a cut leaves out no test of ten."""
    leading: dict[str, BrokenWindow] = {}
    others = [window for window in incident.windows if leading.setdefault(window.test, window) is not window]
    return _listed(
        [
            f"{window.test} for {window.partition}{f' in {window.datacenter}' if window.datacenter else ''}: "
            f"{window.value}{_lost(window.lost_keys)}"
            for window in (*leading.values(), *others)
        ]
    )


def _outlook(incident: IncidentText) -> list[str]:
    eta = _time(incident.eta) if incident.eta else "not given yet"
    return [f"Root cause: {incident.root_cause or 'not given yet'}", f"Expected repair: {eta}", *_link(incident)]


def _link(incident: IncidentText) -> list[str]:
    return [f"Details: {incident.url}"] if incident.url else []


def _listed(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    bullets = [f"- {line}" for line in lines[:MOST_LINES]]
    return [*bullets, f"- and {more} more"] if more > 0 else bullets


def _message(title: str, lines: Iterable[str]) -> Message:
    return Message(title=_flatten_text(title), body="\n".join(map(_flatten_text, lines)).strip() + "\n")


def _flatten_text(text: str) -> str:
    """The text without line breaks, so that no name can forge a header or a line."""
    return " ".join(text.split())


def _lost(keys: int | None) -> str:
    return "" if keys is None else f", {keys:,} keys lost"


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
