"""What is wrong, in one plain sentence that leads with the worst value: the title of an incident and of its notices.

Of a standard test the value has a known meaning. Of any other test the sentence is read from the tree of its assertion:
the comparison that does not hold, what it measured, and what was wanted of it. No code stands in it. Whoever writes to
people chooses the language (``django.utils.translation``); a notice is in English.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop, ngettext

from assay.charts.ticks import length_text
from execution_engine.exact import Number, decimal_of, from_json
from execution_engine.language.evaluate import EvaluatedComparison, judge, only_predicate
from execution_engine.language.serialise import number_shown
from execution_engine.language.tree import (
    Arithmetic,
    Assertion,
    By,
    Call,
    Duration,
    Function,
    History,
    HistoryFunction,
    Metric,
    Node,
    Operator,
    fold,
    metric_of,
    operands,
    unfolded,
)
from execution_engine.metrics.definition import ValueType
from execution_engine.metrics.registry import METRICS


@dataclass(frozen=True, kw_only=True)
class WorstResult:
    """The worst result of an incident: of one test, over one window.

    ``value`` is None where it must not be told, ``keys`` names the partition, empty for the whole table.
    ``is_standard`` says that Assay wrote the test. ``operands`` and ``findings`` are those of its run.
    """

    test: str
    category: str
    is_standard: bool
    keys: str
    value: float | None
    tree: Assertion | None = None
    operands: Mapping[str, Number | None] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # that are unlike those before
    datacenter: str = ""
    spoils: str = ""


Tenses = tuple[str, str]  # what was, and what is wrong


IS: Tenses = (gettext_noop("%(noun)s was %(value)s"), gettext_noop("%(noun)s is %(value)s"))
UNHELD: Tenses = (gettext_noop("%(test)s did not hold"), gettext_noop("%(test)s does not hold"))
GROUPS: Tenses = (
    gettext_noop("%(broken)s of %(total)s groups by %(columns)s did not hold"),
    gettext_noop("%(broken)s of %(total)s groups by %(columns)s do not hold"),
)
OF_BEFORE: Mapping[HistoryFunction, Tenses] = {
    HistoryFunction.MEAN: (
        gettext_noop("%(noun)s was %(value)s of the mean of the %(count)s windows before"),
        gettext_noop("%(noun)s is %(value)s of the mean of the %(count)s windows before"),
    ),
    HistoryFunction.MEDIAN: (
        gettext_noop("%(noun)s was %(value)s of the median of the %(count)s windows before"),
        gettext_noop("%(noun)s is %(value)s of the median of the %(count)s windows before"),
    ),
}
BOUNDS = {  # what is wanted, by the comparator
    ">=": gettext_noop("at least %(bound)s"),
    ">": gettext_noop("more than %(bound)s"),
    "<=": gettext_noop("at most %(bound)s"),
    "<": gettext_noop("less than %(bound)s"),
    "=": gettext_noop("exactly %(bound)s"),
    "!=": gettext_noop("not %(bound)s"),
    "between": gettext_noop("%(bound)s to %(high)s"),
    "not between": gettext_noop("not %(bound)s to %(high)s"),
}
OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "=": "!=", "!=": "="}
OPPOSITE |= {"between": "not between", "not between": "between"}

# what was, and what is wrong
LATE = (
    gettext_noop("%(keys)s was not complete %(length)s after its end"),
    gettext_noop("%(keys)s is not complete %(length)s after its end"),
)
LATE_THERE = (
    gettext_noop("%(keys)s was not complete in %(datacenter)s %(length)s after its end"),
    gettext_noop("%(keys)s is not complete in %(datacenter)s %(length)s after its end"),
)
MANY_TIMES = (
    gettext_noop("There were %(times)s times as many rows as in %(upstream)s"),
    gettext_noop("There are %(times)s times as many rows as in %(upstream)s"),
)
TOO_MANY = (
    gettext_noop("There were %(share)s more rows than in %(upstream)s"),
    gettext_noop("There are %(share)s more rows than in %(upstream)s"),
)
MISSING = (gettext_noop("%(share)s of the rows were missing"), gettext_noop("%(share)s of the rows are missing"))
NOT_DRAWN = (
    gettext_noop("%(share)s of the rows that were drawn from %(upstream)s were missing"),
    gettext_noop("%(share)s of the rows that were drawn from %(upstream)s are missing"),
)
TWICE = (gettext_noop("%(share)s of the rows were duplicates"), gettext_noop("%(share)s of the rows are duplicates"))
KEYS_LOST = (
    gettext_noop("%(share)s of the keys that %(datacenter)s has were missing in %(other)s"),
    gettext_noop("%(share)s of the keys that %(datacenter)s has are missing in %(other)s"),
)
ROWS_LOST = (
    gettext_noop("%(share)s of the rows that %(datacenter)s has were missing in %(other)s"),
    gettext_noop("%(share)s of the rows that %(datacenter)s has are missing in %(other)s"),
)
UNLIKE_IN = (
    gettext_noop("%(keys)s was unlike the windows before it: %(columns)s"),
    gettext_noop("%(keys)s is unlike the windows before it: %(columns)s"),
)
UNLIKE = (
    gettext_noop("%(keys)s was unlike the windows before it"),
    gettext_noop("%(keys)s is unlike the windows before it"),
)
FAILS = (gettext_noop("The test %(test)s failed for %(keys)s"), gettext_noop("The test %(test)s fails for %(keys)s"))


@dataclass(frozen=True, kw_only=True)
class _Clause:
    """What is wrong, which the window follows unless it stands in it, and what was wanted, which ends the sentence."""

    text: str
    ending: str = ""
    names_window: bool = False


def headline(worst: WorstResult, *, others: int, is_over: bool, context: str = "") -> str:
    """The sentence; ``others`` are as many more windows that are bad (or were, where the incident is over).

    The partition that stands before it as its ``context`` is not named again.
    """
    tense = 0 if is_over else 1
    if (meaning := _meaning(worst)) is not None:
        tenses, values = meaning
        sentence = capfirst(gettext(tenses[tense]) % values)
        if worst.keys not in ("", context) and "keys" not in values:
            sentence = gettext("%(sentence)s on %(keys)s") % {"sentence": sentence, "keys": worst.keys}
    elif (clause := _clause_of(worst, tense)) is not None:
        sentence = clause.text if clause.text.startswith(worst.test) else capfirst(clause.text)
        if worst.keys not in ("", context) and not clause.names_window:
            sentence = gettext("%(sentence)s on %(keys)s") % {"sentence": sentence, "keys": worst.keys}
        sentence += clause.ending
    else:
        tenses = FAILS if worst.category != "novelty" else UNLIKE_IN if worst.columns else UNLIKE
        keys = worst.keys or gettext("the whole table")
        values = {"test": worst.test, "keys": keys, "columns": ", ".join(worst.columns)}
        sentence = gettext(tenses[tense]) % values
    if not others:
        more = ""
    elif is_over:
        more = " " + ngettext("%(count)s more window was bad.", "%(count)s more windows were bad.", others)
    else:
        more = " " + ngettext("%(count)s more window is bad.", "%(count)s more windows are bad.", others)
    return f"{sentence.rstrip('.')}.{more % {'count': others}}"


TITLES = {  # of the tests that Assay writes, by how their names begin
    "freshness": gettext_noop("Complete in time"),
    "completeness": gettext_noop("As many rows as in %(of)s"),
    "completeness-sample": gettext_noop("Rows drawn from %(of)s are there"),
    "unpartitioned": gettext_noop("Rows that lie in no partition"),
    "duplicates": gettext_noop("No duplicates"),
    "consistency-count": gettext_noop("As many rows in %(other)s as in %(here)s"),
    "consistency-bloom": gettext_noop("Keys of %(here)s are in %(other)s"),
    "schema": gettext_noop("Columns as declared"),
    "schema-keys": gettext_noop("Key columns as declared"),
    "schema-inferred": gettext_noop("Columns as before"),
    "novelty": gettext_noop("Like the windows before"),
    "value": gettext_noop("There is a value"),
    "band": gettext_noop("Value in the band of its past"),
    "dimension": gettext_noop("Parts by %(of)s add up to the whole"),
}
WHOLE = ":whole"


def title_of(name: str) -> str:
    """What a test that Assay writes asks of data, by its name; a name that it does not write as it is."""
    kind, _, rest = name.removesuffix(WHOLE).partition(":")
    kind, _, place = kind.partition("@")
    here, _, other = rest.partition(">")
    if kind not in TITLES or ("%" in TITLES[kind] and not rest):
        return name
    title = gettext(TITLES[kind]) % {"of": rest, "here": here, "other": other}
    title += " " + gettext("in %(place)s") % {"place": place} if place else ""
    return gettext("%(title)s, whole table") % {"title": title} if name.endswith(WHOLE) else title


def _meaning(worst: WorstResult) -> tuple[Tenses, dict[str, str]] | None:
    """What a standard test's value means, with what the sentences hold; None where it has no known meaning."""
    value = worst.value
    if not worst.is_standard or value is None:
        return None
    name, _, upstream = worst.test.partition(":")
    copies = {"share": share(1 - value), "datacenter": worst.datacenter, "other": worst.spoils}
    match name.partition("@")[0]:
        case "freshness":
            length = _length(max(1, round(value / 60)))
            values = {"keys": worst.keys, "datacenter": worst.datacenter, "length": length}
            return (LATE_THERE if "@" in worst.test else LATE), values
        case "completeness":
            return _ratio_meaning(value, upstream.removesuffix(":whole"))
        case "completeness-sample":
            return NOT_DRAWN, {"share": share(1 - value), "upstream": upstream}
        case "duplicates":
            return TWICE, {"share": share(value)}
        case "consistency-count":
            return ROWS_LOST, copies
        case "consistency-bloom":
            return KEYS_LOST, copies
    return None


def _ratio_meaning(value: float, upstream: str) -> tuple[Tenses, dict[str, str]]:
    """What the number of rows divided by that of an upstream says."""
    if value >= 2:
        return MANY_TIMES, {"times": f"{value:.3g}" if value < 100 else f"{value:,.0f}", "upstream": upstream}
    if value > 1:
        return TOO_MANY, {"share": share(value - 1), "upstream": upstream}
    return MISSING, {"share": share(1 - value)}


def share(value: float) -> str:
    """A share of rows for people: a tenth of a percent where it is small, never rounded to nothing or to all."""
    percent = value * 100
    if percent < 0.1:
        return gettext("less than 0.1 %")
    if percent < 10:
        return f"{math.floor(percent * 10 + 0.5) / 10:g} %"
    return f"{percent:.0f} %" if percent < 99.5 else gettext("almost all") if value < 1 else gettext("all")


def _length(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    if hours >= 48:
        return gettext("%(count)s days") % {"count": hours // 24}
    return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"


# Of any other test: what its assertion says, comparison by comparison.


def _clause_of(worst: WorstResult, tense: int) -> _Clause | None:
    """What a test's assertion says of its worst result; None where that must not be told, or has no words."""
    if worst.tree is None or (worst.value is None and not worst.operands):
        return None
    if isinstance(worst.tree, By):
        return _groups_clause(worst, worst.tree, tense)
    values = {operand.text: worst.operands.get(operand.text) for operand in operands(worst.tree)}
    compared = judge(unfolded(worst.tree), values).compared
    single = only_predicate(worst.tree)
    broken = compared[0] if single else next((item for item in compared if item.truth is False), None)
    if broken is None:
        return None
    comparison = _Comparison.of(broken, worst, is_negated=single is not None and single[1])
    return comparison.clause(worst, tense)


def _groups_clause(worst: WorstResult, tree: By, tense: int) -> _Clause | None:
    """How many groups do not hold, and what is wrong in the worst of them."""
    counts, groups = worst.findings.get("groups"), worst.findings.get("worst_groups", ())
    if not isinstance(counts, Mapping) or not groups:
        return None
    total = counts["held"] + counts["broken"]
    values = {"broken": f"{counts['broken']:,}", "total": f"{total:,}", "columns": _columns(tree.columns)}
    text, ending = gettext(GROUPS[tense]) % values, ""
    value, key = _decimal(groups[0].get("value")), ", ".join(map(_key_text, groups[0]["group"].values()))
    if value is not None and (single := only_predicate(tree.condition)) is not None:
        nothing: dict[str, Number | None] = {operand.call: None for operand in operands(tree.condition)}
        compared = judge(unfolded(tree.condition), nothing).compared[0]
        bound = groups[0].get("bound")
        comparison = _Comparison(
            comparator=OPPOSITE[compared.comparator] if single[1] else compared.comparator,
            side=compared.sides[0],
            value=value,
            bounds=tuple(_decimal(bound) for _ in compared.sides[1:]),
            is_length=_is_length(compared),
        )
        if (clause := comparison.clause(worst, tense)) is not None:
            ending = f"; {key}: {clause.text}{clause.ending}" if key else ""
    return _Clause(text=text, ending=ending)


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """One comparison that does not hold: its measured side, its value, and the bounds that it was held against."""

    comparator: str
    side: Node
    value: Decimal
    bounds: tuple[Decimal | None, ...]
    is_length: bool

    @classmethod
    def of(cls, compared: EvaluatedComparison, worst: WorstResult, *, is_negated: bool) -> "_Comparison":
        value = compared.value if compared.value is not None else decimal_of(worst.value or 0.0)
        return cls(
            comparator=OPPOSITE[compared.comparator] if is_negated else compared.comparator,
            side=compared.sides[0],
            value=value,
            bounds=tuple(compared.values[1:]),
            is_length=_is_length(compared),
        )

    def clause(self, worst: WorstResult, tense: int) -> _Clause | None:
        """In words, by what the measured side is."""
        side = self.side
        if isinstance(side, Call) and side.function is Function.ABS:
            side = side.arguments[0]
        match side:
            case History(function=HistoryFunction.ANOMALY):
                return self._anomaly_clause(side, worst, tense)
            case History(function=HistoryFunction.NOVELTY):
                return None
            case Metric() if side is self.side:
                return self._metric_clause(side, worst, tense)
            case Arithmetic(operator=Operator.DIVIDE, left=Metric() as left, right=Metric() as right) if _is_copy(
                left, right
            ):
                tenses, values = _ratio_meaning(float(self.value), right.dataset or "")
                ending = self._tolerance(self.bounds[0]) if self.value < 1 else ""
                return _Clause(text=gettext(tenses[tense]) % values, ending=ending)
            case Arithmetic(operator=Operator.DIVIDE, left=Metric() as left, right=History() as right) if (
                right.function in OF_BEFORE and right.metric == left
            ):
                values = {"noun": _noun_text(left, worst), "value": self._text(self.value, is_share=True)}
                text = gettext(OF_BEFORE[right.function][tense]) % (values | {"count": right.last})
                return _Clause(text=text, ending=self._requirement(is_share=True))
        text = gettext(UNHELD[tense]) % {"test": worst.test}
        return _Clause(text=text, ending=f": {self._text(self.value)}{self._requirement()}")

    def _metric_clause(self, metric: Metric, worst: WorstResult, tense: int) -> _Clause:
        if metric.spec.name == "freshness" and metric.dataset is None and worst.keys:
            values = {"keys": worst.keys, "length": _length(max(1, round(float(self.value) / 60)))}
            return _Clause(text=gettext(LATE[tense]) % values, ending=self._requirement(), names_window=True)
        phrase = METRICS[metric.spec.name].phrase
        bound = self.bounds[0]
        is_part = 0 <= self.value < 1 and (bound is None or self.value < bound <= 1)
        if phrase.fault is not None and is_part and self.comparator in (">=", ">", "=", "between"):
            share_text = _share_text(1 - self.value, None if bound is None else 1 - bound)
            text = gettext(phrase.fault[tense]) % (_parts(metric, worst) | {"share": share_text})
            text += _scope(metric, worst)
            return _Clause(text=text, ending=self._tolerance(bound) if "%(share)s" in phrase.fault[0] else "")
        is_share = METRICS[metric.spec.name].is_share
        values = {"noun": _noun_text(metric, worst), "value": self._text(self.value, is_share=is_share)}
        return _Clause(text=gettext(IS[tense]) % values, ending=self._requirement(is_share=is_share))

    def _anomaly_clause(self, history: History, worst: WorstResult, tense: int) -> _Clause | None:
        """The value and between what it was expected, as the run found them."""
        expected = worst.findings.get("expected", ())
        finding = next((item for item in expected if item.get("metric") == history.metric.call), None)
        value = None if finding is None else _decimal(finding.get("value"))
        if finding is None or value is None:
            return None
        is_share = METRICS[history.metric.spec.name].is_share
        low, high = (_decimal(finding[end]) for end in ("low", "high"))
        texts = [None if end is None else self._text(end, is_share=is_share) for end in (low, high)]
        comparator = ">=" if texts[1] is None else "<=" if texts[0] is None else "between"
        bound = texts[0] if texts[0] is not None else texts[1]
        expected_text = gettext(BOUNDS[comparator]) % {"bound": bound, "high": texts[1]}
        text = gettext(IS[tense]) % {
            "noun": _noun_text(history.metric, worst),
            "value": self._text(value, is_share=is_share),
        }
        return _Clause(text=text, ending=", " + gettext("expected %(bound)s") % {"bound": expected_text})

    def _tolerance(self, bound: Decimal | None) -> str:
        """How many rows may be at fault."""
        if bound is None:
            return ""
        if bound == 1:
            return " " + gettext("(none may be)")
        values = {"share": _percent(1 - bound)}
        is_strict = self.comparator == ">"
        text = gettext("(less than %(share)s may be)") if is_strict else gettext("(at most %(share)s may be)")
        return " " + text % values

    def _requirement(self, *, is_share: bool = False) -> str:
        """What was wanted; empty where that is not known."""
        if any(bound is None for bound in self.bounds):
            return ""
        texts = [self._text(bound, is_share=is_share) for bound in self.bounds if bound is not None]
        bound_text = gettext(BOUNDS[self.comparator]) % {"bound": texts[0], "high": texts[-1]}
        return ", " + gettext("wanted %(bound)s") % {"bound": bound_text}

    def _text(self, value: Decimal, *, is_share: bool = False) -> str:
        if self.is_length:
            return length_text(float(value))
        if is_share:
            return _percent(value)
        text = number_shown(value, next((bound for bound in self.bounds if bound is not None), None))
        return f"{int(text):,}" if text.lstrip("-").isdigit() else text


def _decimal(stored: Any) -> Decimal | None:
    number = from_json(stored)
    return None if number is None else decimal_of(number)


def _is_length(compared: EvaluatedComparison) -> bool:
    """Whether a length of time is compared."""

    def visit(node: Node, below: Sequence[bool]) -> bool:
        match node:
            case Duration():
                return True
            case Metric() | History():
                return METRICS[metric_of(node).spec.name].signature.returns is ValueType.DURATION
            case Arithmetic(operator=Operator.DIVIDE):  # by another length, or by 3600: a number of something
                return False
        return any(below)

    return any(fold(side, visit) for side in compared.sides)


def _is_copy(left: Metric, right: Metric) -> bool:
    """Whether the rows of a table are divided by those of another."""
    is_count = left.spec == right.spec and METRICS[left.spec.name].adds_up and not left.spec.columns
    return is_count and left.dataset is None and right.dataset is not None


def _noun_text(metric: Metric, worst: WorstResult) -> str:
    phrase = METRICS[metric.spec.name].phrase
    return gettext(phrase.noun) % _parts(metric, worst) + _scope(metric, worst)


def operand_titles(tree: Assertion, test: str) -> dict[str, str]:
    """How people call each operand of an assertion, by its text."""
    of = WorstResult(test=test, category="", is_standard=False, keys="", value=None)
    return {operand.text: capfirst(_noun_text(metric_of(operand), of)) for operand in operands(tree)}


def _parts(metric: Metric, worst: WorstResult) -> dict[str, str]:
    """What the phrases fill in, of a call."""
    spec, literals = metric.spec, [str(literal) for literal in metric.spec.arguments]
    columns = [_column(column) for column in spec.columns] or [gettext("the columns")]
    return {
        "test": worst.test,
        "columns": ", ".join(columns),
        "first": columns[0],
        "second": columns[-1],
        "literal": literals[0] if literals else "",
        "low": literals[0] if literals else "",
        "high": literals[-1] if literals else "",
    }


def _scope(metric: Metric, worst: WorstResult) -> str:
    """Of which rows, where not of all that the test is about."""
    scope = ""
    if metric.spec.where is not None:
        scope += " " + gettext("(of the rows that %(test)s selects)") % {"test": worst.test}
    if place := metric.dataset or metric.datacenter:
        scope += " " + gettext("in %(place)s") % {"place": place}
    return scope


def _columns(names: Sequence[str]) -> str:
    return ", ".join(map(_column, names))


def _column(name: str) -> str:
    """A column's name as people write it."""
    return name.replace("`", "")


def _key_text(part: Any) -> str:
    return gettext("no value") if part is None else str(part)


def _percent(value: Decimal) -> str:
    """A share with the digits that it is written with, at most six."""
    return f"{number_shown((value * 100).normalize())} %"


def _share_text(value: Decimal, bound: Decimal | None) -> str:
    """A share of rows for people, in as many digits as tell it from its bound."""
    text = share(float(value))
    return _percent(value) if bound is not None and text == _percent(bound) else text
