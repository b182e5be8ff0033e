"""The short form of checks files: a metric with its bound as an assertion, or a rule of ``Check`` by its own name."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from execution_engine.language.parsing.parse import UnableToParse, parse
from execution_engine.metrics.columns import listed
from execution_engine.metrics.registry import METRICS
from execution_engine.verification.checks.check import Check

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
