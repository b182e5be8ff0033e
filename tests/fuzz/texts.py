"""Texts to be read as assertions: from the grammar, mutated from known ones, and of raw characters."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz.grammar import WORDS as OF_THE_GRAMMAR
from tests.fuzz.grammar import Writer
from tests.unit.execution_engine.language.golden import pairs

SEEDS = Path(__file__).parent / "seeds.txt"
WORDS = (
    *"+-*/()<>=!,'\"%#.{}\n\t",
    *OF_THE_GRAMMAR,
    "and",
    "or",
    "not",
    "between",
    "by",
    "for",
    "of",
    "groups",
    "null",
    "7d",
)
HIDDEN = "\0\ufeff\u202e\u200b\ud800\U0001f600é漢\uff52٣½"


@cache
def seeds() -> tuple[str, ...]:
    """The hostile texts of the file, and every golden assertion and refusal."""
    lines = [line for line in SEEDS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    golden = [text for name in ("assertions.txt", "refusals.txt") for text, _ in pairs(name)]
    return (*map(_written, lines), *golden)


def _written(line: str) -> str:
    return str(_value(ast.parse(line, mode="eval").body))


def _value(node: ast.expr) -> str | int:
    match node:
        case ast.Constant(value=str() | int() as value):
            return value
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return str(_value(left)) + str(_value(right))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return str(_value(left)) * int(_value(right))
    raise ValueError(f"{SEEDS} holds literals, + and * only: {ast.unparse(node)}")


def seed(random: Random) -> str:
    """A known text as it is."""
    return random.choice(seeds())


def grown(random: Random) -> str:
    """A text of the grammar; most, but not all, fit the types."""
    return Writer(random=random, wild=random.choice((0.0, 0.0, 0.05, 0.3))).assertion()


def mutated(random: Random) -> str:
    """A known or grown text with some places cut, doubled, swapped or written over."""
    text = (seed(random) if random.random() < 0.5 else grown(random))[:6_000]
    for _ in range(random.randint(1, 8)):
        text = random.choice(MUTATIONS)(random, text)
    return text


def raw(random: Random) -> str:
    """Random bytes as UTF-8, Latin-1 or with lone surrogates; or random code points."""
    size = random.choice((3, 30, 300, 5_000))
    match random.randrange(4):
        case 0:
            return random.randbytes(size).decode("utf-8", "surrogateescape")
        case 1:
            return random.randbytes(size).decode("latin-1")
        case 2:
            return "".join(chr(random.randrange(sys.maxunicode + 1)) for _ in range(size))
    return "".join(random.choice(WORDS) for _ in range(size // 3))


def _places(random: Random, text: str) -> tuple[int, int]:
    start = random.randint(0, len(text))
    return start, min(len(text), start + random.randint(0, 12))


def _cut(random: Random, text: str) -> str:
    start, end = _places(random, text)
    return text[:start] + text[end:]


def _double(random: Random, text: str) -> str:
    start, end = _places(random, text)
    return text[:end] + text[start:end] * random.choice((1, 2, 40)) + text[end:]


def _write(random: Random, text: str) -> str:
    start, end = _places(random, text)
    return text[:start] + random.choice((random.choice(WORDS), random.choice(HIDDEN))) + text[end:]


def _insert(random: Random, text: str) -> str:
    start, _ = _places(random, text)
    return f"{text[:start]} {random.choice(WORDS)} {text[start:]}"


def _splice(random: Random, text: str) -> str:
    other = seed(random)
    return text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :][:3_000]


def _flip(random: Random, text: str) -> str:
    if not text:
        return text
    place = random.randrange(len(text))
    return text[:place] + chr(ord(text[place]) ^ (1 << random.randrange(8))) + text[place + 1 :]


MUTATIONS: tuple[Callable[[Random, str], str], ...] = (_cut, _double, _write, _insert, _splice, _flip)
KINDS: dict[str, Callable[[Random], str]] = {"seed": seed, "grown": grown, "mutated": mutated, "raw": raw}
SHARES = {"seed": 1, "grown": 40, "mutated": 45, "raw": 14}
