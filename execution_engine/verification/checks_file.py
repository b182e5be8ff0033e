"""Checks written in YAML: a file is read whole, or refused with everything that is wrong in it, by line.

The same checks in Python are the methods of ``Check``.
"""

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from assay.catalog.yaml.yaml_text import UnableToParseYaml, parse_yaml
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.metrics.expressions import listed, named
from execution_engine.metrics.registry import METRICS

from .check import Check
from .constraints import AssertionConstraint, Level, MetricConstraint, UnableToAssert, assertion_constraint

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
COUNTS = {"is_less_than": 2, "satisfies": 1, "satisfies_if": 2}  # of texts that a rule takes


class UnableToExpand(ValueError):
    """What stands there is no short form; the message says what may stand there."""


def expand(key: str, content: Any) -> list[str | Rule]:
    """The assertions or rules that ``key: content`` stands for; raises UnableToExpand."""
    if key in OF_VALUES:
        kind = str if key in ("has_pattern", "has_data_type") else list
        if not isinstance(content, Mapping) or not all(isinstance(value, kind) and value for value in content.values()):
            form = "a text behind each column, such as {code: integral}"
            if kind is list:
                form = "the values of each column, such as {status: [open, closed]}"
            raise UnableToExpand(f"found {content!r}: write {form}")
        return [_rule(key, column, values) for column, values in content.items()]
    if key in RULES:
        if key == "is_unique" and isinstance(content, Mapping) and set(content) == {"columns", "nulls"}:
            return [_rule(key, *_texts(key, content["columns"]), nulls=content["nulls"])]
        texts = _texts(key, content)
        return [_rule(key, column) for column in texts] if key in PER_COLUMN else [_rule(key, *texts)]
    if _CALL.fullmatch(key):
        return [f"{key.strip()} {_bound(content)}"]
    if key not in METRICS:
        raise UnableToExpand(f"{key!r} is neither a metric nor a rule: the rules are {', '.join(RULES)}")
    if not isinstance(content, Mapping):
        return [f"{key}() {_bound(content)}"]
    assertions: list[str | Rule] = []
    for columns, bound in content.items():
        text = f"{key}({columns}) {_bound(bound)}"
        try:
            parse(text)
        except UnableToParse:  # columns by their bare names, such as ``order id``
            text = f"{key}({', '.join(listed(str(columns)))}) {_bound(bound)}"
        assertions.append(text)
    return assertions


def _bound(content: Any) -> str:
    """``>= 0.99`` as it is; a number is equality."""
    if isinstance(content, bool) or not isinstance(content, int | float | str):
        raise UnableToExpand(f"found {content!r}: write a number, or a comparison such as '>= 0.99'")
    text = str(content)
    return text if _BOUND.match(text) else f"= {text}"


def _rule(name: str, *arguments: Any, **options: Any) -> Rule:
    """The very method of ``Check``, once it was seen to make sense: a name means the same in both forms."""

    def add(check: Check) -> Check:
        added: Check = getattr(check, name)(*arguments, **options)
        return added

    try:
        add(Check())
    except (TypeError, ValueError) as error:
        raise UnableToExpand(str(error)) from None
    return add


def _texts(key: str, content: Any) -> Sequence[str]:
    texts = [content] if isinstance(content, str) else content
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise UnableToExpand(f"found {content!r}: write a column, or a list of columns such as [id, city]")
    if len(texts) != COUNTS.get(key, len(texts)):
        raise UnableToExpand(f"found {len(texts)}: {key} takes {COUNTS[key]}")
    return texts


# A file of checks.

PARTS = ("checks", "tables")
OPTIONS = ("level", "name", "where", "hint", "for_each_column")
_KEYS = ("assertion", *OPTIONS)

Place = tuple[str | int, ...]
Finding = tuple[Place, str]


class UnableToReadChecks(ValueError):
    """A file that cannot be used, with ``file:line`` for everything that is wrong in it."""


@dataclass(frozen=True, kw_only=True)
class ChecksFile:
    """The checks in their order, the lines of their constraints, and the other tables by their names."""

    checks: tuple[Check, ...]
    lines: tuple[int, ...]  # of each constraint, in the order of the checks
    tables: Mapping[str, str] = field(default_factory=dict)


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
    content = text.content if isinstance(text.content, Mapping) else {}
    tables = content.get("tables") or {}
    checks: list[Check] = []
    lines: list[int] = []
    entries = content["checks"] if isinstance(content.get("checks"), list) else []
    findings: list[Finding] = [((str(key),), _unknown(str(key), PARTS)) for key in content if key not in PARTS]
    if not isinstance(tables, Mapping):
        sentence = "write the path of each table behind its name: `raw.customers: lake/customers`."
        findings.append((("tables",), sentence))
    if not entries:
        findings = [((), "write `checks:` and below it a list, such as `- assertion: row_count() > 0`.")]
    for at, entry in enumerate(entries):
        place: Place = ("checks", at)
        wrong = list(_wrong_entry(entry, place))
        findings += wrong
        if not wrong:
            try:
                checks.append(_check(entry, tuple(tables)))
                lines += [text.line(place)] * len(checks[-1].constraints)
            except (UnableToExpand, UnableToAssert) as error:
                findings.append((place, str(error)))
    problems = [(key.line, f"{key.path}: {key.sentence}") for key in text.doubled_keys]
    problems += [(text.line(place), sentence) for place, sentence in findings]
    if problems:
        raise UnableToReadChecks("\n".join(f"{path}:{line}: {sentence}" for line, sentence in sorted(problems)))
    located = {  # a relative path is meant from the file's own folder
        name: str(where) if "://" in str(where) or "/" not in str(where) else str(path.parent / str(where))
        for name, where in tables.items()
    }
    return ChecksFile(checks=tuple(checks), lines=tuple(lines), tables=located)


def _wrong_entry(entry: Any, place: Place) -> Iterator[Finding]:
    if isinstance(entry, str):
        return
    if not isinstance(entry, Mapping):
        yield place, f"found {reprlib.repr(entry)}: write an assertion, or a mapping with the key assertion."
        return
    others = [str(key) for key in entry if key not in _KEYS]
    if "assertion" in entry and others:
        yield (*place, others[0]), _unknown(others[0], _KEYS)
    elif "assertion" not in entry and len(others) != 1:
        yield place, f"found {', '.join(others) or 'no rule'}: write one assertion, metric or rule for each entry."
    if "assertion" in entry and not isinstance(entry["assertion"], str):
        yield (*place, "assertion"), f"found {reprlib.repr(entry['assertion'])}: write a text."
    if entry.get("level", "error") not in tuple(Level):
        yield (*place, "level"), f"found {reprlib.repr(entry['level'])}: write error or warning."
    for name in ("name", "where", "hint"):
        if not isinstance(entry.get(name, ""), str):
            yield (*place, name), f"found {reprlib.repr(entry[name])}: write a text."
    columns = entry.get("for_each_column", ["x"])
    if not isinstance(columns, list) or not columns or not all(isinstance(column, str) for column in columns):
        yield (*place, "for_each_column"), f"found {reprlib.repr(columns)}: write a list of columns."
    elif "for_each_column" in entry and "{column}" not in str(entry.get("assertion", "")):
        yield (*place, "for_each_column"), "the assertion must say {column} where each column is meant."


def _check(entry: str | Mapping[str, Any], datasets: tuple[str, ...]) -> Check:
    options: Mapping[str, Any] = {} if isinstance(entry, str) else entry
    where, hint, name = options.get("where"), options.get("hint", ""), options.get("name", "")
    if not isinstance(entry, str) and "assertion" not in entry:
        key = next(key for key in entry if key not in _KEYS)
        statements = expand(str(key), entry[key])
    else:
        assertion = str(options.get("assertion", entry))
        columns = options.get("for_each_column") or [""]
        statements = [assertion.replace("{column}", named(column)) if column else assertion for column in columns]
    constraints: list[MetricConstraint | AssertionConstraint] = []
    for statement in statements:
        if isinstance(statement, str):
            constraints.append(assertion_constraint(statement, hint=hint, where=where, datasets=datasets))
            continue
        for constraint in statement(Check(where=where)).constraints:
            if isinstance(constraint, MetricConstraint | AssertionConstraint):
                constraints.append(replace(constraint, hint=hint))
    for at, constraint in enumerate(constraints if name else ()):
        text = name if len(constraints) == 1 else f"{name}: {constraint.text}"
        if isinstance(constraint, MetricConstraint):
            constraints[at] = replace(constraint, text=text)
        else:
            constraints[at] = replace(constraint, name=text)
    return Check(Level(options.get("level", Level.ERROR)), name, constraints=tuple(constraints))


def _unknown(key: str, keys: tuple[str, ...]) -> str:
    near = get_close_matches(key, keys, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"found the unknown key {key!r}: {hint}Known here: {', '.join(keys)}."
