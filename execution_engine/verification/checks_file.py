"""Checks written in YAML: a file is read whole, or refused with everything that is wrong in it.

The same checks in Python are in ``checks``.
"""

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from assay.catalog.yaml.yaml_text import UnableToParseYaml, YamlText, parse_yaml
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.metrics.expressions import listed, named
from execution_engine.metrics.registry import METRICS
from execution_engine.verification.checks.check import Check
from execution_engine.verification.constraints.assertion import (
    AssertionConstraint,
    UnableToAssert,
    assertion_constraint,
)
from execution_engine.verification.constraints.constraints import Level, MetricConstraint

# The short form of checks files: a metric with its bound as an assertion, or a rule of ``Check`` by its own name.

Rule = Callable[[Check], Check]  # the check with the constraints of one rule more

_BOUND = re.compile(r"\s*(<|>|=|!=|between\b|not\s+between\b)", re.IGNORECASE)
_CALL = re.compile(r"\s*(\w+)\s*\(.*\)\s*", re.DOTALL)
PER_COLUMN = (  # a rule for each column by itself
    *("is_complete", "is_non_negative", "is_positive", "contains_email", "contains_url"),
    *("contains_credit_card_number", "contains_social_security_number"),
)
TOGETHER = ("is_unique", "is_primary_key", "are_complete", "is_less_than")  # of all their columns together
OF_VALUES = ("is_contained_in", "is_in_range", "has_pattern", "has_data_type")  # what each column is held against
OF_CONDITIONS = ("satisfies", "satisfies_if")
RULES = (*PER_COLUMN, *TOGETHER, *OF_VALUES, *OF_CONDITIONS)


class UnableToExpand(ValueError):
    """What stands there is no short form; the message says what may stand there."""


def expand(key: str, said: Any) -> list[str | Rule]:
    """The assertions or rules that ``key: said`` stands for; raises UnableToExpand."""
    if key in RULES:
        return [_tried(rule) for rule in _rules(key, said)]
    if _CALL.fullmatch(key):
        return [f"{key.strip()} {_bound(said)}"]
    if key not in METRICS:
        raise UnableToExpand(f"{key!r} is neither a metric nor a rule: the rules are {', '.join(RULES)}")
    if isinstance(said, Mapping):
        return [_assertion(key, str(columns), _bound(bound)) for columns, bound in said.items()]
    return [f"{key}() {_bound(said)}"]


def _assertion(metric: str, columns: str, bound: str) -> str:
    """Columns as the language has them, or by their bare names, such as ``order id``."""
    text = f"{metric}({columns}) {bound}"
    try:
        parse(text)
    except UnableToParse:
        return f"{metric}({', '.join(listed(columns))}) {bound}"
    return text


def _bound(said: Any) -> str:
    """``>= 0.99`` as it is; a number is equality."""
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        raise UnableToExpand(f"found {said!r}: write a number, or a comparison such as '>= 0.99'")
    text = str(said)
    return text if _BOUND.match(text) else f"= {text}"


def _rules(key: str, said: Any) -> list[Rule]:
    """The very methods of ``Check``, so that a name means the same in both forms."""
    if key in OF_VALUES:
        return [partial(_called, key, column, values) for column, values in _values(key, said)]
    if key == "is_unique" and isinstance(said, Mapping) and set(said) == {"columns", "nulls"}:
        return [partial(_called, key, *_texts(key, said["columns"]), nulls=said["nulls"])]
    given = _texts(key, said)
    if key in PER_COLUMN:
        return [partial(_called, key, column) for column in given]
    return [partial(_called, key, *given)]


def _called(name: str, *arguments: Any, check: Check, **options: Any) -> Check:
    added: Check = getattr(check, name)(*arguments, **options)
    return added


def _tried(rule: Callable[..., Check]) -> Rule:
    """The rule, once it was seen to make sense."""
    try:
        rule(check=Check())
    except (TypeError, ValueError) as error:
        raise UnableToExpand(str(error)) from None
    return lambda check: rule(check=check)


def _texts(key: str, said: Any) -> Sequence[str]:
    texts = [said] if isinstance(said, str) else said
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise UnableToExpand(f"found {said!r}: write a column, or a list of columns such as [id, city]")
    wanted = {"is_less_than": 2, "satisfies": 1, "satisfies_if": 2}.get(key, len(texts))
    if len(texts) != wanted:
        raise UnableToExpand(f"found {len(texts)}: {key} takes {wanted}")
    return texts


def _values(key: str, said: Any) -> list[tuple[str, Any]]:
    wanted = str if key in ("has_pattern", "has_data_type") else list
    if not isinstance(said, Mapping) or not all(isinstance(values, wanted) and values for values in said.values()):
        shown = "a text behind each column, such as {code: integral}" if wanted is str else _LISTS
        raise UnableToExpand(f"found {said!r}: write {shown}")
    return list(said.items())


_LISTS = "the values of each column, such as {status: [open, closed]}"


# A file of checks in YAML: read whole, or refused with everything that is wrong in it, by line.

PARTS = ("checks", "tables")
OPTIONS = ("level", "name", "where", "hint", "for_each_column")
_KEYS = ("assertion", *OPTIONS)

Place = tuple[str | int, ...]
Finding = tuple[Place, str]
Written = MetricConstraint | AssertionConstraint  # what an entry may become


class UnableToReadChecks(ValueError):
    """A file that cannot be used, with ``file:line`` for everything that is wrong in it."""


@dataclass(frozen=True, kw_only=True)
class ChecksFile:
    """The checks in their order, the lines of their constraints, and the other tables by their names."""

    checks: tuple[Check, ...]
    lines: tuple[int, ...]  # of each constraint, in the order of the checks
    tables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Item:
    """One entry of the list: its assertions or rules, and what is said of all of them."""

    place: Place
    written: tuple[str | Rule, ...]
    said: Mapping[str, Any]


def read_checks(path: Path) -> ChecksFile:
    """The checks that a file holds; raises UnableToReadChecks."""
    try:
        text = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnableToReadChecks(f"{path}: cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise UnableToReadChecks(f"{path}: is no UTF-8 text at byte {error.start}: save it as UTF-8.") from None
    except UnableToParseYaml as error:
        raise UnableToReadChecks(f"{path}:{error.line}: no YAML: {error.sentence}. Check its indentation.") from None
    return _read(path, text)


def _read(path: Path, text: YamlText) -> ChecksFile:
    problems = [(each.line, f"{each.path}: {each.sentence}") for each in text.doubled_keys]
    items, findings = _items(text.content)
    tables = text.content.get("tables") or {} if isinstance(text.content, Mapping) else {}
    checks: list[Check] = []
    lines: list[int] = []
    for item in items:
        try:
            checks.append(_check(item, tables))
            lines += [text.line(item.place)] * len(checks[-1].constraints)
        except UnableToAssert as error:
            findings.append((item.place, str(error)))
    problems += [(text.line(place), sentence) for place, sentence in findings]
    if problems:
        raise UnableToReadChecks("\n".join(f"{path}:{line}: {sentence}" for line, sentence in sorted(problems)))
    located = {name: _beside(path, str(where)) for name, where in tables.items()}
    return ChecksFile(checks=tuple(checks), lines=tuple(lines), tables=located)


def _beside(path: Path, where: str) -> str:
    """A relative path is meant from the file's own folder."""
    return where if "://" in where or "/" not in where else str(path.parent / where)


def _items(content: Any) -> tuple[list[_Item], list[Finding]]:
    findings: list[Finding] = []
    if not isinstance(content, Mapping) or not isinstance(content.get("checks"), list) or not content["checks"]:
        return [], [((), "write `checks:` and below it a list, such as `- assertion: row_count() > 0`.")]
    findings += [((str(key),), _unknown(str(key), PARTS)) for key in content if key not in PARTS]
    if not isinstance(content.get("tables") or {}, Mapping):
        findings.append((("tables",), "write the path of each table behind its name: `raw.customers: lake/customers`."))
    items: list[_Item] = []
    for at, said in enumerate(content["checks"]):
        place: Place = ("checks", at)
        wrong = list(_wrong(said, place))
        findings += wrong
        if not wrong:
            try:
                items.append(
                    _Item(
                        place=place,
                        written=tuple(_written(said)),
                        said={} if isinstance(said, str) else {name: said[name] for name in OPTIONS if name in said},
                    )
                )
            except UnableToExpand as error:
                findings.append((place, str(error)))
    return items, findings


def _wrong(said: Any, place: Place) -> Iterator[Finding]:
    """What is wrong with an entry apart from its assertion."""
    if isinstance(said, str):
        return
    if not isinstance(said, Mapping):
        yield place, f"found {reprlib.repr(said)}: write an assertion, or a mapping with the key assertion."
        return
    others = [str(key) for key in said if key not in _KEYS]
    if "assertion" in said and others:
        yield (*place, others[0]), _unknown(others[0], _KEYS)
    elif "assertion" not in said and len(others) != 1:
        yield place, f"found {', '.join(others) or 'no rule'}: write one assertion, metric or rule for each entry."
    if "assertion" in said and not isinstance(said["assertion"], str):
        yield (*place, "assertion"), f"found {reprlib.repr(said['assertion'])}: write a text."
    if said.get("level", "error") not in tuple(Level):
        yield (*place, "level"), f"found {reprlib.repr(said['level'])}: write error or warning."
    for name in ("name", "where", "hint"):
        if not isinstance(said.get(name, ""), str):
            yield (*place, name), f"found {reprlib.repr(said[name])}: write a text."
    columns = said.get("for_each_column", ["x"])
    if not isinstance(columns, list) or not columns or not all(isinstance(column, str) for column in columns):
        yield (*place, "for_each_column"), f"found {reprlib.repr(columns)}: write a list of columns."
    elif "for_each_column" in said and "{column}" not in str(said.get("assertion", "")):
        yield (*place, "for_each_column"), "the assertion must say {column} where each column is meant."


def _written(said: str | Mapping[str, Any]) -> Sequence[str | Rule]:
    if isinstance(said, str):
        return [said]
    if "assertion" not in said:
        key = next(str(key) for key in said if key not in _KEYS)
        return expand(key, said[key])
    columns = said.get("for_each_column")
    text = str(said["assertion"])
    return [text.replace("{column}", named(column)) for column in columns] if columns else [text]


def _check(item: _Item, tables: Mapping[str, Any]) -> Check:
    check = Check(Level(item.said.get("level", Level.ERROR)), item.said.get("name", ""))
    found = [constraint for each in item.written for constraint in _constraints(each, item.said, tuple(tables))]
    for constraint in found:
        check = check.adding(_named(constraint, check.name, alone=len(found) == 1))
    return check


def _constraints(written: str | Rule, said: Mapping[str, Any], datasets: tuple[str, ...]) -> Sequence[Written]:
    hint, where = said.get("hint", ""), said.get("where")
    if isinstance(written, str):
        return (assertion_constraint(written, hint=hint, where=where, datasets=datasets),)
    return [replace(each, hint=hint) for each in written(Check(where=where)).constraints if isinstance(each, Written)]


def _named(constraint: Written, name: str, *, alone: bool) -> Written:
    if not name:
        return constraint
    text = name if alone else f"{name}: {constraint.text}"
    if isinstance(constraint, MetricConstraint):
        return replace(constraint, text=text)
    return replace(constraint, name=text)


def _unknown(key: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"found the unknown key {key!r}: {hint}Known here: {', '.join(known)}."
