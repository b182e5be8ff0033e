"""Attacks and honest queries, mutated: one number gives one text, always the same."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from tests.unit.execution_engine.guard import golden

WORDS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\w+|\s+|.", re.DOTALL)
LOOK_ALIKES = str.maketrans("aceopxyisjRS", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0455\u0458\uff32\uff33")
SPACES = ("\t", "\n", "\r\n", "\f", "\v", "  ", "\u00a0", "\u2003", "\u200b", "\ufeff", "\u2028", "\x1c", "")
COMMENTS = ("/**/", "/* x */", "-- x\n", "-- x \\\n", "/*+ x */", "/* /* */ */", "--\n", "/*!x*/", "/* ' */", "-- '\n")
NESTS = (
    "select * from ({}) x",
    "with q as ({}) select * from q",
    "with q as (select 1), r as ({}) select * from q, r",
    "select ({})",
    "select case when exists ({}) then 1 end",
    "select count(*) from trips where exists ({})",
    "select count(*) from trips where city in ({})",
    "select count(*) from trips having count(*) > ({})",
    "select count(*) from trips t cross join ({}) s",
    "select count(*) from trips t join ({}) s on t.city = s.city",
    "select transform(array(1), x -> ({}))",
    "select if(true, ({}), 1), coalesce(({}), 2)",
    "{} union all {}",
    "({})",
    "with secret as (select 1 as value) {}",
    "with c as (select 1 as value) select max(x.value) from ({}) as x left join c as x using (value)",
    "with c as (select 1 as value) select * from secret as x join c as x using (value) where exists ({})",
    "select * from (with secret as (select 1 as value) {}) x left join secret using (value)",
    "explain {}",
    "execute immediate '{}'",
    "create view x as {}",
    "select * from trips lateral view explode(array(({}))) e",
    "select sum(fare) over (order by ({})) from trips",
)
PLACES = ("city", "fare", "trips", "1", "'rome'", "count(*)", "trip_id", "*")
VOCABULARY = """
    select from where group by having order limit union all except intersect join cross lateral view explode using on
    as with recursive values table insert overwrite directory into create temporary function set reset add jar drop
    reflect java_method transform identifier current_user input_file_name text csv secret user :x ? @x ${x} ( ) , ; .
    ` ' " -- /* */ \\ = -> => :: || |> [ ] { } null true 1 1e999 * + - / % ! ~ interval date cast try_cast tablesample
"""
Change = Callable[[random.Random, str], str]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A text, and whether it is one of a condition, and whether there is an attack in it."""

    seed: int
    text: str
    is_condition: bool
    is_attack: bool


@cache
def _attacks() -> tuple[str, ...]:
    texts = (text for kinds in golden.payloads().values() for text in kinds)
    return tuple(text for text in texts if len(text) < 1_000)


@cache
def _honest() -> tuple[str, ...]:
    return (*golden.queries(), *(f"select count(*) from trips where {text}\n" for text in golden.conditions()))


def mutant(seed: int) -> Mutant:
    """The mutant of that number."""
    chance = random.Random(seed)
    kind = chance.randrange(10)
    is_condition = kind == 0
    is_attack = kind < 8 and (not is_condition or chance.random() < 0.6)
    if is_condition:
        text = chance.choice(golden.conditions())
        text = _splice(chance, text) if is_attack else text
    elif kind < 4:
        text = chance.choice(_attacks())
    elif kind < 7:
        text = _splice(chance, chance.choice(_honest()))
    elif kind == 7:
        text = _joined(chance)
    else:
        text = chance.choice(_honest())
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        text = chance.choice(CHANGES)(chance, text)[:30_000]
    return Mutant(seed=seed, text=text, is_condition=is_condition, is_attack=is_attack)


def _fragment(chance: random.Random) -> str:
    """The part of an attack that may stand inside another statement."""
    text = chance.choice(_attacks())
    return chance.choice((text, f"({text})", text.removeprefix("select "), text.removeprefix("select * from ")))


def _splice(chance: random.Random, text: str) -> str:
    place = chance.choice(PLACES)
    if place in text and chance.random() < 0.7:
        return text.replace(place, _fragment(chance), 1)
    words = WORDS.findall(text)
    words.insert(chance.randrange(len(words) + 1), f" {_fragment(chance)} ")
    return "".join(words)


def _joined(chance: random.Random) -> str:
    one, other = chance.choice(_attacks() + _honest()), chance.choice(_attacks())
    return one + chance.choice((";", "; ", "\n", " union all ", " -- ", " /* ", " */ ", ", ", ") ", " || ")) + other


def _case(chance: random.Random, text: str) -> str:
    return "".join(letter.upper() if chance.random() < 0.5 else letter.lower() for letter in text)


def _comment(chance: random.Random, text: str) -> str:
    words = WORDS.findall(text)
    words.insert(chance.randrange(len(words) + 1), chance.choice(COMMENTS))
    return "".join(words)


def _space(chance: random.Random, text: str) -> str:
    space = chance.choice(SPACES)
    return re.sub(r"\s+", lambda found: space if chance.random() < 0.5 else found.group(), text)


def _letter(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    changed = text[at : at + 1].translate(LOOK_ALIKES) or chance.choice("\u202e\u200b\ufeff\u0301\x00\x1a\x7f\ud800")
    return text[:at] + changed + text[at + 1 :]


def _nest(chance: random.Random, text: str) -> str:
    return chance.choice(NESTS).replace("{}", text)


def _split_string(chance: random.Random, text: str) -> str:
    found = list(re.finditer(r"'([^'\\]{2,})'", text))
    if not found:
        return text
    match = chance.choice(found)
    inner = match.group(1)
    at = chance.randrange(1, len(inner))
    one, other = inner[:at], inner[at:]
    forms = (f"'{one}' || '{other}'", f"concat('{one}', '{other}')", f"'{one}' '{other}'", f'"{inner}"', f"r'{inner}'")
    return text[: match.start()] + chance.choice((*forms, f"'{one}''{other}'")) + text[match.end() :]


def _quote(chance: random.Random, text: str) -> str:
    words = WORDS.findall(text)
    plain = [at for at, word in enumerate(words) if word.isidentifier()]
    if not plain:
        return text + "`"
    at = chance.choice(plain)
    words[at] = chance.choice(("`{}`", "``{}``", "`{}", "'{}'", '"{}"', "`{}```", "identifier('{}')")).format(words[at])
    return "".join(words)


def _escape(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    letter = text[at : at + 1] or "x"
    code = ord(letter)
    forms = (
        f"\\u{code & 0xFFFF:04x}",
        f"\\{code & 0x7F:03o}",
        f"\\{letter}",
        "\\",
        f"\\U{code:08x}",
        f"%{code & 0xFF:02x}",
    )
    return text[:at] + chance.choice(forms) + text[at + 1 :]


def _drop(chance: random.Random, text: str) -> str:
    words = WORDS.findall(text) or [""]
    del words[chance.randrange(len(words))]
    return "".join(words)


def _swap(chance: random.Random, text: str) -> str:
    words = WORDS.findall(text)
    pairs = list(pairwise(range(len(words))))
    if not pairs:
        return text
    one, other = chance.choice(pairs)
    words[one], words[other] = words[other], words[one]
    return "".join(words)


def _insert(chance: random.Random, text: str) -> str:
    words = WORDS.findall(text)
    words.insert(chance.randrange(len(words) + 1), f" {chance.choice(VOCABULARY.split())} ")
    return "".join(words)


def _embed(chance: random.Random, text: str) -> str:
    return _splice(chance, text)


CHANGES: tuple[Change, ...] = (
    _case, _comment, _space, _letter, _nest, _split_string, _quote, _escape, _drop, _swap, _insert, _embed,
)  # fmt: skip
