"""What becomes of a text: read, checked, kept as JSON and evaluated. Nothing but the language's errors may come out."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf, nan
from random import Random
from time import process_time
from typing import Any

from assay.time.windows import Granularity
from execution_engine.language.checking import DatasetSchema, UnableToCheck, check
from execution_engine.language.evaluate import ZeroDivision, evaluate, excess
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.serialise import from_json, to_json, to_text
from execution_engine.language.tree import Assertion, History, Operand, operands
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.registry import GROUPABLE, SIGNATURES
from execution_engine.outcome import Failure, Outcome, Reason
from tests.fuzz.texts import KINDS, SHARES

HOME = DatasetSchema(
    name="dw.trips",
    columns={
        "email": ColumnKind.TEXT,
        "fare": ColumnKind.NUMERIC,
        "city": ColumnKind.TEXT,
        "status": ColumnKind.ANY,
        "trip_id": ColumnKind.NUMERIC,
        "started_at": ColumnKind.TEMPORAL,
    },
    datacenters=("sea", "phx"),
    granularity=Granularity.DAY,
)
VALUES = (0.0, 1.0, -1.0, 0.5, 3.0, 1e300, -1e-300, 1e15, 0.1)
ODD = (None, nan, inf, -inf)
FAULT = "FAULT"
SLOW = 0.020  # seconds of CPU
MAX_MESSAGE = 1_500  # characters
KEYS = ("Oslo", "Bergen", None, "", "'; drop", "\u202e")


@dataclass(kw_only=True)
class Tally:
    """What became of many texts; picklable, so that processes can add theirs up."""

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind of text and end
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)  # CPU seconds and the text, by kind
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add another tally to this one."""
        self.ends += other.ends
        self.faults += other.faults
        for kind, found in other.slowest.items():
            self.slowest[kind] = max(found, self.slowest.get(kind, found))

    @property
    def count(self) -> int:
        """How many texts there were."""
        return self.ends.total()


def fuzz(start: int, count: int) -> Tally:
    """What became of ``count`` texts, each made from its own number, from ``start`` on."""
    tally = Tally()
    parse("row_count() > 0")  # reads the grammar
    for number in range(start, start + count):
        kind, text, end, seconds = _tried(number)
        if seconds > SLOW:  # the machine, or the text? Its cost is the least of three
            seconds = min(seconds, *(_tried(number)[3] for _ in range(2)))
        if end.startswith(FAULT):
            tally.faults.append(f"text {number} {ascii(text)[:200]}: {end}")
        tally.ends[kind, FAULT if end.startswith(FAULT) else end] += 1
        tally.slowest[kind] = max((seconds, f"text {number}: {ascii(text)[:60]}"), tally.slowest.get(kind, (0.0, "")))
    return tally


def _tried(number: int) -> tuple[str, str, str, float]:
    """The text of a number: its kind, itself, how it ended, and the seconds of CPU it took."""
    random = Random(number)
    (kind,) = random.choices(list(SHARES), list(SHARES.values()))
    text = KINDS[kind](random)
    began = process_time()
    try:
        end = ending(text, random)
    except Exception as error:
        end = f"{FAULT} {type(error).__name__}: {error!s:.200}"
    return kind, text, end, process_time() - began


def ending(text: str, random: Random) -> str:
    """How a text ends: unreadable, refused, held, broken or error; raises whatever is none of the language's errors."""
    try:
        tree = parse(text)
    except UnableToParse as refused:
        return "unreadable" if len(str(refused)) < MAX_MESSAGE else f"{FAULT} a message that is too long"
    assert from_json(to_json(tree)) == tree, "the JSON reads back otherwise"
    try:
        check(tree, home=HOME, schema_of=_schema_of, signatures=SIGNATURES, source=text, groupable=GROUPABLE)
    except UnableToCheck:
        return "refused"
    return _evaluated(tree, random).value


def _evaluated(tree: Assertion, random: Random) -> Outcome:
    values = {operand.text: _value(operand, random) for operand in operands(tree)}
    found = evaluate(tree, values, zero=random.choice(list(ZeroDivision)))
    assert (found.failure is None) == (found.outcome is not Outcome.ERROR), "an error and its failure go together"
    beyond = excess(tree, found)
    assert beyond is None or beyond >= 0, "excess is a distance"
    assert found.sentence, "a verdict says something"
    assert to_text(tree), "a tree has a text"
    return found.outcome


def _value(operand: Operand, random: Random) -> Any:
    if random.random() < 0.02:
        return Failure(reason=random.choice(list(Reason)))
    if not isinstance(operand, History):
        return _groups(len(operand.spec.by), random) if operand.spec.by else _number(random)
    by = len(operand.metric.spec.by)
    windows = range(random.choice((0, 1, min(operand.last, 10 if by else 1000))))
    return [_groups(by, random) if by and random.random() < 0.9 else None if by else _number(random) for _ in windows]


def _groups(columns: int, random: Random) -> dict[tuple[str | None, ...], float | None]:
    return {(key,) * columns: _number(random) for key in random.sample(KEYS, random.randint(0, 4))}


def _number(random: Random) -> float | None:
    match random.randrange(20):
        case 0:
            return random.choice(ODD)
        case 1 | 2:
            return random.choice((-1.0, 1.0)) * 10 ** random.uniform(-300, 300)
    return random.choice(VALUES)


def _schema_of(name: str) -> DatasetSchema | None:
    return HOME if name in ("dw.trips", "x") else None
