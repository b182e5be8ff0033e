"""I1 to I7 as functions of the facts: each says what violates it, a line for each (pure)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from tests.faults.facts import Change, Facts, IncidentFact

TERMINAL = frozenset({"held", "broken", "error"})
CLOSINGS = frozenset({"recovered", "withdrawn"})
MOST_READS = 5  # twice with the others of its scan, then three times by itself
STANDINGS = {
    "": {"PENDING", "PASS", "WARN", "FAIL", "UNKNOWN", "LEARNING", "UNTESTED"},
    "PENDING": {"PASS", "WARN", "FAIL", "UNKNOWN", "LEARNING"},
    "PASS": {"WARN", "FAIL"},
    "WARN": {"PASS", "FAIL", "UNKNOWN"},
    "FAIL": {"PASS"},
    "UNKNOWN": {"PASS", "WARN", "FAIL", "LEARNING"},
    "LEARNING": {"PASS", "WARN", "FAIL", "UNKNOWN"},
}


def each_slot_once(facts: Facts) -> Iterator[str]:
    """I1: every slot that was due has one run, and every run one terminal outcome."""
    ran = Counter((run.data_test, run.window_start) for run in facts.runs if run.reason == "schedule")
    for slot in facts.due.keys() | ran.keys():
        if facts.due[slot] != ran[slot]:
            yield f"test {slot[0]}, window from {slot[1]:%Y-%m-%d %H:%M}: due {facts.due[slot]}, run {ran[slot]} times"
    for run in facts.runs:
        if run.outcome not in TERMINAL or not run.is_judged:
            yield f"run {run.id} ({run.reason}) has the outcome {run.outcome!r}, judged: {run.is_judged}"


def one_result(facts: Facts) -> Iterator[str]:
    """I2: the outcome of a run was written once, and counted once."""
    ends = Counter(change.row for change in facts.changes if change.table == "run")
    yield from (f"run {run.id} was ended {ends[run.id]} times" for run in facts.runs if ends[run.id] != 1)
    if facts.counted_runs != len(facts.runs):
        yield f"{facts.counted_runs} ends were counted of {len(facts.runs)} runs"


def one_open_incident(facts: Facts) -> Iterator[str]:
    """I3: no two incidents of a dataset and category are open at one time."""
    places: dict[tuple[int, str], list[IncidentFact]] = defaultdict(list)
    for incident in sorted(facts.incidents, key=lambda each: (each.opened, each.id)):
        places[incident.place].append(incident)
    for place, incidents in places.items():
        for first, second in pairwise(incidents):
            if first.closed is None or first.closed > second.opened:
                yield f"incidents {first.id} and {second.id} of {place} are open together"


def told_of_all(facts: Facts) -> Iterator[str]:
    """I4: each incident's opening and end was sent, or suppressed with a reason."""
    events: dict[int, set[str]] = defaultdict(set)
    for notice in facts.notices:
        if notice.alert is not None:
            events[notice.alert].add(notice.event)
    for incident in facts.incidents:
        known = events[incident.alert or 0]
        if "opened" not in known:
            yield f"nobody was to be told of incident {incident.id}"
        if incident.closed is not None and not CLOSINGS & known:
            yield f"nobody was to be told of the end of incident {incident.id}"
    for notice in facts.notices:
        if not (notice.settled and (notice.sent or notice.suppressed)):
            yield f"{notice.key} was neither sent nor suppressed"


def each_key_taken(facts: Facts, *, repeats: int) -> Iterator[str]:
    """I5: the receiver has what was sent and nothing else, always alike; at most so many repeats."""
    expected = {notice.key for notice in facts.notices if notice.channel == "webhook" and notice.sent}
    taken = {key for request in facts.requests if request.taken for key in request.notices}
    known = {notice.key for notice in facts.notices}
    yield from (f"{key} counts as sent, and never came" for key in sorted(expected - taken))
    yield from (f"{key} came, and nobody was to be told" for key in sorted(taken - known))
    yield from _unlike(facts)
    again = sum(count - 1 for count in Counter(request.key for request in facts.requests if request.taken).values())
    if again > repeats:
        yield f"{again} messages came again, at most {repeats} may"


def _unlike(facts: Facts) -> Iterator[str]:
    """Messages of one key with several bodies, and notices that came in messages of several keys."""
    bodies, messages = defaultdict(set), defaultdict(set)
    for request in facts.requests:
        bodies[request.key].add(request.digest)
        for notice in request.notices:
            messages[notice].add(request.key)
    yield from (f"{key} came with {len(each)} bodies" for key, each in bodies.items() if len(each) > 1)
    yield from (f"{key} came under the keys {sorted(each)}" for key, each in messages.items() if len(each) > 1)


def legal_changes(facts: Facts) -> Iterator[str]:
    """I6: standings change only as they may, and nothing that has ended changes its end."""
    for change in facts.changes:
        if not _is_legal(change):
            yield f"{change.table} {change.row}: {change.old or 'nothing'} → {change.new or 'nothing'}"


def _is_legal(change: Change) -> bool:
    if change.table == "standing":
        return change.new in STANDINGS.get(change.old, set())
    return not change.old  # of runs, scans and notices only the end is noted


def tried_within_bounds(facts: Facts) -> Iterator[str]:
    """I7: no measurement was begun on more often than may be."""
    for measurement, times in facts.reads.items():
        if times > MOST_READS:
            yield f"measurement {measurement} was read {times} times, at most {MOST_READS} are allowed"


def all_of(facts: Facts, *, repeats: int) -> dict[str, list[str]]:
    """What violates each of I1 to I7."""
    judged: Mapping[str, Callable[[Facts], Iterator[str]]] = {
        "I1": each_slot_once,
        "I2": one_result,
        "I3": one_open_incident,
        "I4": told_of_all,
        "I5": lambda facts: each_key_taken(facts, repeats=repeats),
        "I6": legal_changes,
        "I7": tried_within_bounds,
    }
    return {name: list(violations(facts)) for name, violations in judged.items()}
