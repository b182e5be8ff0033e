"""From the text of an assertion to its tree."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from math import isfinite
from typing import Any
from unicodedata import category

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from execution_engine import exact
from execution_engine.metrics.expressions import PLAIN_NAME, named, written
from execution_engine.metrics.registry import SIGNATURES
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.novelty.days import LAST_BATCHES

from .tree import (
    ONE_VALUE,
    PROFILE,
    WITH_OPTIONS,
    And,
    Arithmetic,
    Assertion,
    AssertionProblem,
    Between,
    By,
    Call,
    Comparator,
    Comparison,
    Duration,
    Expression,
    Function,
    History,
    HistoryFunction,
    Metric,
    Negative,
    Not,
    Number,
    Operator,
    Or,
    Percentage,
    Placed,
    Span,
    Text,
    depth,
    postorder,
)
from .tree import Literal as TreeLiteral


class UnableToParse(ValueError):
    """A text that is no assertion; the message draws the place and says what was expected there."""

    def __init__(self, problem: AssertionProblem, source: str, *, what: str = "assertion") -> None:
        super().__init__(f"Cannot read the {what}: {problem.explain(source)}")
        self.problem = problem


class ParseRefusal(Exception):
    """A problem met while the tree is built; ``parse`` turns it into UnableToParse with the text drawn."""

    def __init__(self, message: str, place: Span | None = None) -> None:
        super().__init__(message)
        self.problem = AssertionProblem(message=message, place=place)


# Limits, so that a hostile text is refused long before it is read to its end.

MAX_BYTES = 4096
MAX_TOKENS = 1024
MAX_NODES = 256
MAX_DEPTH = 32  # of nodes, and of parentheses
MAX_OPERANDS = 32
MAX_FOUND = 60  # characters of what was found that a message repeats
ASSERTION, EXPRESSION = "start", "sum"  # the rules of the grammar that a text may be read by


@lru_cache(maxsize=1024)  # tables share most of their standard tests
def parse(text: str) -> Assertion:
    """The tree of an assertion; raises UnableToParse."""
    tree: Assertion = _parse(text, ASSERTION, "assertion")
    return tree


def parse_expression(text: str) -> Expression:
    """The tree of a number, such as ``sum(fare) / row_count()``, without a bound; raises UnableToParse."""
    tree: Expression = _parse(text, EXPRESSION, "expression")
    return tree


def _parse(text: str, rule: str, what: str) -> Any:
    try:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            raise ParseRefusal(f"it may have {MAX_BYTES} bytes, not {size}: split it into several tests")
        if not text.strip():
            raise ParseRefusal("it is empty: write a comparison such as row_count() > 0")
        for position, character in enumerate(text):
            if has_hidden(character):
                place = Span(start=position, end=position + 1)
                raise ParseRefusal(f"a hidden character U+{ord(character):04X} stands here: delete it", place)
        tree = build(_parsed(text, rule))
        nodes = postorder(tree)
        operand_count = sum(isinstance(node, Metric | History) for node in nodes)
        if len(nodes) > MAX_NODES:
            raise ParseRefusal(f"it may have {MAX_NODES} nodes, not {len(nodes)}: split it into several tests")
        if operand_count > MAX_OPERANDS:
            raise ParseRefusal(f"it may have {MAX_OPERANDS} operands, not {operand_count}: split it into several tests")
        if depth(tree) > MAX_DEPTH:
            raise ParseRefusal(f"it may be nested {MAX_DEPTH} deep, not {depth(tree)}: use fewer steps")
    except ParseRefusal as refusal:
        raise UnableToParse(refusal.problem, text, what=what) from None
    return tree


def has_hidden(text: str) -> bool:
    """Whether the text holds a character that readers do not see, and that no assertion may hold.

    Such as a control or format character (byte order mark, right-to-left mark), or half of a surrogate pair.
    """
    return any(character not in "\t\r\n" and category(character) in ("Cc", "Cf", "Cs") for character in text)


@cache
def _grammar() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar, parser="lalr", start=[ASSERTION, EXPRESSION], propagate_positions=True, maybe_placeholders=False
    )


def _parsed(text: str, rule: str) -> Tree[Token]:
    parser, opened = _grammar().parse_interactive(text, start=rule), 0
    try:
        for count, token in enumerate(parser.iter_parse(), start=1):
            opened += (token.type == "LPAR") - (token.type == "RPAR")
            if opened > MAX_DEPTH:
                place = Span(start=token.start_pos or 0, end=token.end_pos or 0)
                raise ParseRefusal(f"parentheses may be nested {MAX_DEPTH} deep: use fewer", place)
            if count > MAX_TOKENS:
                raise ParseRefusal(f"it may have {MAX_TOKENS} words and signs: split it into several tests")
        tree: Tree[Token] = parser.feed_eof()
    except UnexpectedToken as error:
        place = Span(start=error.token.start_pos or 0, end=error.token.end_pos or 0)
        if error.token.type == "$END":
            place = Span(start=len(text.rstrip()), end=len(text.rstrip()))
        if rule == EXPRESSION and error.token.type in ("COMPARATOR", "_BETWEEN", "_NOT"):
            message = "an expression has no bound: end it here, and write the bound in a test of its own"
            raise ParseRefusal(message, place) from None
        raise _unexpected(text, place, parser) from None
    except UnexpectedCharacters as error:
        start = error.pos_in_stream or 0
        raise _unexpected(text, Span(start=start, end=start + 1), parser) from None
    return tree


def _unexpected(text: str, place: Span, parser: InteractiveParser) -> ParseRefusal:
    expected, bare = parser.accepts(), None
    if expected == {"LPAR"}:
        bare = parser.parser_state.value_stack[-1].start_pos
    elif "ABS" in expected and text[place.start : place.start + 1] == "`" and _PATH.match(text, place.start):
        bare = place.start
    if bare is not None:
        path = _PATH.match(text, bare)
        end = path.end() if path else bare
        return ParseRefusal(mending_of_bare(text[bare:end], text[end:]), Span(start=bare, end=end))
    snippet = text[place.start : place.end]
    words = repr(snippet if len(snippet) <= MAX_FOUND else f"{snippet[:MAX_FOUND]}…") if snippet else "the end"
    message, mend = f"expected {describe(expected)}, found {words}", mending(text, place.start, expected)
    return ParseRefusal(f"{message}; {mend}" if mend else message, place)


# What a reader is told who wrote a name by itself, such as a column, where only the call of a metric stands.

MAX_NAME = 128  # characters of a name, with the fields of structs, for which a mending is written out
MAX_SHOWN = 60  # of a longer one
_CALLED = (*SIGNATURES, *HistoryFunction, *Function)
_NAME = r"(?:[a-z_][a-z0-9_]{0,127}|`(?:[^`]|``)+`)"
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*", re.IGNORECASE)
_VALUE = r"(?:'[^'\"\\]{0,60}'|-?\d{1,20}(?:\.\d{1,20})?)"
_OF_ROWS = re.compile(
    rf"""\s*((?:<=|>=|==|!=|<>|<|>|=)\s*{_VALUE}(?!\s*[-+*/%.])|is\s+(?:not\s+)?null\b|(?:not\s+)?like\s+'[^'"\\]{{0,60}}'
    |(?:not\s+)?between\s+{_VALUE}\s+and\s+{_VALUE}|(?:not\s+)?in\s*\(\s*{_VALUE}(?:\s*,\s*{_VALUE}){{0,2}}\s*\))(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_AS_A_COLUMN = re.compile(r"\s*([-+*/%<>=!),.]|(is|in|like|between)\b|$)", re.IGNORECASE)
_NEXT = re.compile(r"\s*(?!(?:is|in|like|rlike|not|between|and|or|by)\b)([a-z_]\w{0,127})\s*(\(?)", re.IGNORECASE)
_NUMBERLESS = ("nan", "true", "false", "inf", "infinity")
_JOINING = ("and", "or", "between", "by")


def mending_of_bare(name: str, after: str) -> str:
    """How to mend ``name``, which stands in a text before ``after``, and is not called."""
    lowered = name.lower()
    follows = _NEXT.match(after)
    if lowered == "null":
        return f"there is no literal {name}: coalesce(…, 0) replaces a NULL"
    if lowered in _NUMBERLESS:
        return f"there is no literal {name}: compare with a number, such as completeness(email) = 1"
    if lowered in ("select", "with", "case"):
        return """SQL stands in quotes, in query("select count(*) from …") > 0 or compliance("…") = 1"""
    if lowered in _JOINING and (follows or not _AS_A_COLUMN.match(after)):
        return f"something is missing before {name!r}"
    if follows and follows[2]:
        return f"leave {name} out: an assertion begins with what it compares, such as {follows[1]}(…) > 0"
    if len(name) > MAX_NAME:
        return f"{name[:MAX_SHOWN]}… stands by itself: a column goes into a metric, completeness(…) = 1"
    from execution_engine.guard import in_sql  # with it sqlglot, for what is mended alone

    # as a metric, where it is one or is like one; as a column, where it may be one
    bare, signature = f"{name} stands by itself: ", SIGNATURES.get(lowered)
    if signature is not None and not (signature.min_columns or signature.arguments):
        return f"{bare}call the metric with parentheses, {name}()"
    column, on_rows = name if PLAIN_NAME.fullmatch(name) else named(name), _OF_ROWS.match(after)
    condition = f'compliance("{in_sql(column)} {on_rows[1] if on_rows else "is not null"}") = 1'
    as_column = f"a column goes into a metric, completeness({column}) = 1, or a condition on rows, {condition}"
    if lowered in _CALLED:
        call = f"call the {'function' if signature is None else 'metric'} with parentheses, {name}"
        return f"{bare}{call}({follows[1]})" if follows else f"{bare}{call}(…); {as_column}"
    if follows:
        place = f"between backticks in a metric, completeness(`{name} {follows[1]}`) = 1"
        return f"{bare}a name of several words stands {place}"
    near = get_close_matches(lowered, _CALLED, n=1, cutoff=0.8)
    return bare + "; ".join([*(f"did you mean {like}(…)?" for like in near), as_column])


# What a reader who wrote something else is told: what was expected at the place, in words, and how to mend it.

_OPERAND = frozenset({"NAME", "ABS", "CHOICE", "NUMBER", "LENGTH", "STRING", "LPAR", "MINUS", "_NOT"})
_UNSAID = frozenset({"PERCENT", "_NOT", "_BY"})

# The first groups win: each says the terminals that are all expected, and takes them from what is left to say.
_PHRASES = (
    (_OPERAND - {"_NOT"}, "a metric such as row_count(), a number, a duration or '('"),
    (frozenset({"COMPARATOR", "_BETWEEN"}), "a comparison (< <= > >= = != between)"),
    (
        frozenset({"NAME", "QUOTED", "NUMBER", "STRING", "LENGTH", "MINUS"}),
        "a column, a number, a text in quotes or name=value",
    ),
    (frozenset({"NUMBER", "STRING", "LENGTH", "MINUS"}), "a number, a text in quotes or a step such as 7d"),
    (frozenset({"PLUS", "MINUS", "STAR", "SLASH"}), "an operator (+ - * /)"),
    (frozenset({"PLUS", "MINUS"}), "an operator (+ - * /)"),
    (frozenset({"_AND", "_OR"}), "'and' or 'or'"),
    (frozenset({"_AND"}), "'and'"),
    (frozenset({"_OR"}), "'or'"),
    (frozenset({"_BETWEEN"}), "'between'"),
    (frozenset({"NUMBER"}), "a number"),
    (frozenset({"COMMA"}), "','"),
    (frozenset({"_FOR"}), "'for 95 % of groups'"),
    (frozenset({"_OF"}), "'of groups'"),
    (frozenset({"_GROUPS"}), "'groups'"),
    (frozenset({"PERCENT"}), "'%'"),
    (frozenset({"NAME", "QUOTED"}), "a column"),
    (frozenset({"EQUAL"}), "'='"),
    (frozenset({"LPAR"}), "'('"),
    (frozenset({"RPAR"}), "')'"),
    (frozenset({"$END"}), "the end of the assertion"),
)

# What people write instead, as it is found at the place (the last character before it stands first), and the mending.
_MENDINGS = (
    (r"\(\*", "rows are counted by row_count()"),
    (r"=>", "write >= for at least"),
    (r"=<", "write <= for at most"),
    (r"\d[,_]\d", "write a number without signs between its digits, such as 1000"),
    (r".;", "an assertion ends without a semicolon: leave it out"),
    (r".where\b", """a condition on rows goes into the metric: completeness(email, where="country = 'US'")"""),
    (r".(group|partition)\b", "groups are named by 'by', after the whole assertion: row_count() > 0 by city"),
    (r".(if|when)\b", """what holds of some rows is said by satisfies_if("country = 'US'", "zip is not null") = 1"""),
    (r".for\b", "'for' follows 'by': row_count() > 0 by city for 95 % of groups"),
    (r".(sec|min|hr|hour|day|week|month|year)\w*", "write a duration as a number and s, m, h, d or w, such as 4h"),
    (r".%", "'%' stands behind a number only: there is no remainder"),
    (r".by\b", "'by' comes once, after the whole assertion: row_count() > 0 by city"),
    (r"\*\*", "there is no power operator: multiply"),
    (r"<>", "write != for unequal"),
    (r".&", "write 'and'"),
    (r".\|", "write 'or'"),
    (r".!", "write 'not', or != for unequal"),
    (r".(in|is|like|rlike)\b", """write a condition on rows as compliance("status in ('a', 'b')") >= 0.99"""),
    (r".(null|nan|true|false)\b", "there is no such literal: coalesce(…, 0) replaces a NULL"),
    (r".[smhdwy]o?\b", "write a duration without a space, such as 4h"),
    (r".`[^`]", "a column's name ends with the backtick it began with; a backtick inside is doubled"),
    (r".``", "a column has a name: write it between the backticks"),
    (r".['\"]", "a text ends with the quote it began with; a quote inside is doubled"),
    (r".\[", "there is no index"),
    (r".\.", "there are no attributes: a dataset's full name goes in quotes, dataset='raw.trips'"),
)

_NAME_IN_PIECES = re.compile(r"[(,]\s*([A-Za-z_]\w*)\s*$")
_OPTIONS = ("where", "dataset", "datacenter", "ago", "last", "every", "min")


def describe(expected: Iterable[str]) -> str:
    """The expected terminals of the grammar in words, such as ``',' or ')'``."""
    left = set(expected)
    phrases: list[str] = []
    for terminals, phrase in _PHRASES:
        if terminals <= left:
            left -= terminals | _UNSAID
            phrases.append(phrase)
    return " or ".join([", ".join(phrases[:-1]), phrases[-1]] if phrases[1:] else phrases) or "something else"


def mending(source: str, position: int, expected: Iterable[str]) -> str | None:
    """How to mend the text at ``position``, where it is a mistake people are known to make."""
    terminals = set(expected)
    if terminals == {"NAME", "QUOTED"}:
        return "name columns without quotes, such as by city, `order id`"
    if "_FOR" in terminals:
        return "'by city' stands at the end, after every condition"
    if position >= len(source.rstrip()):
        return "an assertion compares, such as row_count() > 0" if "COMPARATOR" in terminals else None
    if terminals == {"NUMBER", "STRING", "LENGTH", "MINUS"} and re.match(r"[a-z_`]", source[position:], re.IGNORECASE):
        return """a text stands in quotes, such as where="country = 'US'\""""
    if {"COMMA", "RPAR"} <= terminals and (pieces := _NAME_IN_PIECES.search(source[:position][-MAX_NAME:])):
        name, after = pieces[1].lower(), source[position:]
        if name == "distinct":
            return "distinct values are counted by count_distinct(city)"
        if name in _OPTIONS or any(re.match(rf"{option}\b", after, re.IGNORECASE) for option in _OPTIONS):
            return """an option stands behind a comma as name=value, such as where="country = 'US'" or last=7"""
        return "a column of another name than letters, digits and _ stands between backticks, such as `order id`"
    nearby = f"{source[position - 1] if position else ' '}{source[position:]}"
    return next((mend for pattern, mend in _MENDINGS if re.match(pattern, nearby, re.IGNORECASE | re.DOTALL)), None)


# Literals: numbers, percentages, lengths of time, texts and columns.

MAX_NUMBER = 40  # characters
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def read_number(token: str, place: Span) -> exact.Number:
    """The number a token says, with every digit; refuses one that is too long or too large."""
    if len(token) > MAX_NUMBER:
        raise ParseRefusal(f"a number may have {MAX_NUMBER} characters, not {len(token)}: round it", place)
    if not isfinite(float(token)):
        raise ParseRefusal("this number is too large to be held: write one below 1e308", place)
    return exact.number_of(Decimal(token))


def read_duration(token: str, place: Span) -> float:
    """The seconds a token such as ``4h`` says; refuses months and years, which have no fixed length."""
    if token.endswith(("mo", "y")):
        message = "a month or a year has no fixed length: write days, such as 30d (1mo and 1y are for ago= and every=)"
        raise ParseRefusal(message, place)
    return float(exact.decimal_of(read_number(token[:-1], place)) * _SECONDS[token[-1]])


def read_text(token: str) -> str:
    """What stands between the quotes, doubled quotes made single."""
    return token[1:-1].replace(token[0] * 2, token[0])


def argument_value(node: object, place: Span) -> Literal:
    """The value of a literal as a metric takes it: whole numbers as int, so that 1 and 1.0 are one metric."""
    match node:
        case Text(value=text):
            return text
        case Number(value=value):
            number = value
        case Percentage(percent=percent):
            number = float(Decimal(repr(percent)) / 100)
        case Negative(value=Number(value=value)):
            number = -value
        case _:
            message = "a duration can be given to ago= and every= only: write a number or a text in quotes"
            raise ParseRefusal(message, place)
    if isinstance(number, float):
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return number if isinstance(number, int) else float(number)  # of a fraction what a float holds


# From the arguments of a call to its operand: a metric, or a function of one over past windows; and from ``by …``.

FOR_METRIC = ("where", "dataset", "datacenter", "ago")
FOR_HISTORY = ("last", "every", "min")
OF_PROFILE = ("without",)  # options of the metric that novelty compares


@dataclass(frozen=True, kw_only=True)
class BareName(Placed):
    """A bare name among the arguments."""

    name: str


@dataclass(frozen=True, kw_only=True)
class WrittenStep(Placed):
    """A duration as it is written, as ``ago=`` and ``every=`` keep it: ``1mo`` is a calendar step, not seconds."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Keyword(Placed):
    """``name=value`` among the arguments."""

    name: str
    value: "TreeLiteral | Negative | WrittenStep"


Argument = BareName | Keyword | TreeLiteral | Negative | WrittenStep | Metric | History
Keywords = Mapping[str, Keyword]


def operand(name: str, arguments: Sequence[Argument], place: Span) -> Metric | History:
    """The operand that a call says."""
    keywords: dict[str, Keyword] = {}
    positional: list[Argument] = []
    for argument in arguments:
        if isinstance(argument, Keyword):
            if argument.name in keywords:
                raise ParseRefusal(f"{argument.name}= is given twice: keep one", argument.place)
            keywords[argument.name] = argument
        elif keywords:
            raise ParseRefusal("this argument comes after a name=value: put it first", argument.place)
        else:
            positional.append(argument)
    has_metric = any(isinstance(argument, Metric | History) for argument in positional)
    if name == HistoryFunction.NOVELTY:
        # ``novelty(fare, where="…")`` is ``novelty(profile(fare, where="…"), last=90)``
        if not has_metric:
            inside = {key: word for key, word in keywords.items() if key in (*FOR_METRIC, *OF_PROFILE)}
            keywords = {key: word for key, word in keywords.items() if key not in inside}
            positional = [_metric(PROFILE, positional, inside, place)]
        last = Keyword(name="last", value=Number(value=float(LAST_BATCHES), place=place), place=place)
        keywords = {"last": last, **keywords}
    if "last" in keywords or has_metric:
        return _history(name, positional, keywords, place)
    return _metric(name, positional, keywords, place)


def by(parts: Sequence[Any], place: Span) -> By:
    """The groups of an assertion: its condition, then columns, then perhaps a percentage."""
    columns = [part for part in parts if isinstance(part, BareName)]
    share = parts[-1] if isinstance(parts[-1], Percentage) else None
    places = {f"column {i}": column.place for i, column in enumerate(columns)}
    return By(
        condition=parts[0],
        columns=tuple(column.name for column in columns),
        percent=None if share is None else share.percent,
        parts=places if share is None else {**places, "percent": share.place},
        place=place,
    )


def _metric(name: str, positional: Sequence[Argument], keywords: Keywords, place: Span) -> Metric:
    columns = tuple(argument.name for argument in positional if isinstance(argument, BareName))
    literals = positional[len(columns) :]
    for argument in literals:
        if isinstance(argument, BareName):
            raise ParseRefusal(f"column {argument.name} comes after a literal: put columns first", argument.place)
    options = [(key, argument_value(word.value, word.place)) for key, word in keywords.items() if key not in FOR_METRIC]
    places = {f"column {i}": argument.place for i, argument in enumerate(positional[: len(columns)])}
    places |= {f"argument {i}": argument.place for i, argument in enumerate(literals)}
    return Metric(
        spec=MetricSpec(
            name=name,
            columns=columns,
            arguments=tuple(argument_value(literal, literal.place) for literal in literals),
            options=tuple(sorted(options)),
            where=_text(keywords, "where"),
        ),
        dataset=_text(keywords, "dataset"),
        datacenter=_text(keywords, "datacenter"),
        ago=_step(keywords, "ago"),
        parts=places | {word.name: word.place for word in keywords.values()},
        place=place,
    )


def _history(name: str, positional: Sequence[Argument], keywords: Keywords, place: Span) -> History:
    if name not in tuple(HistoryFunction):
        message = f"{name} is no function over past windows: take one of {', '.join(HistoryFunction)}"
        raise ParseRefusal(message, place)
    function = HistoryFunction(name)
    for word in keywords.values():
        # which options the function itself has is for the type check to say
        if word.name not in FOR_HISTORY and (function not in WITH_OPTIONS or word.name in FOR_METRIC):
            raise ParseRefusal(f"{word.name}= is no option over past windows: give it to the metric inside", word.place)
        if word.name == "min" and function in ONE_VALUE:
            raise ParseRefusal(f"{function} needs one window only: leave min= out", word.place)
        if word.name == "last" and function is HistoryFunction.LAG:
            raise ParseRefusal("lag says how many windows before without a name: write lag(row_count(), 7)", word.place)
    match positional:
        case [Metric() as metric, Number() | Percentage() | Duration() | Text() | Negative() as value] if (
            function is HistoryFunction.LAG
        ):
            last = Keyword(name="last", value=value, place=value.place)
        case _ if function is HistoryFunction.LAG:
            message = "lag needs a metric call and how many windows before, such as lag(row_count(), 7)"
            raise ParseRefusal(message, place)
        case [Metric() as metric]:
            if "last" not in keywords:
                message = f"{name} of a metric call is over past windows: say how many, such as last=7"
                raise ParseRefusal(message, place)
            last = keywords["last"]
        case _:
            raise ParseRefusal(f"last= needs one metric call first, such as {name}(row_count(), last=7)", place)
    options = [word for key, word in sorted(keywords.items()) if key not in FOR_HISTORY]
    return History(
        function=function,
        metric=metric,
        last=_count(last),
        min=_count(keywords["min"]) if "min" in keywords else None,
        every=_step(keywords, "every"),
        options=tuple((word.name, argument_value(word.value, word.place)) for word in options),
        parts={word.name: word.place for word in (*keywords.values(), last)},
        place=place,
    )


def _text(keywords: Keywords, name: str) -> str | None:
    if (word := keywords.get(name)) is None:
        return None
    if not isinstance(word.value, Text):
        raise ParseRefusal(f"{name}= needs a text in quotes", word.place)
    return word.value.value


def _step(keywords: Keywords, name: str) -> str | None:
    if (word := keywords.get(name)) is None:
        return None
    if not isinstance(word.value, WrittenStep):
        raise ParseRefusal(f"{name}= needs a step back in time, such as 7d, 4h or 1mo", word.place)
    return word.value.text


def _count(word: Keyword) -> int:
    value = None if isinstance(word.value, WrittenStep) else argument_value(word.value, word.place)
    if not isinstance(value, int):
        raise ParseRefusal(f"{word.name}= needs a whole number of windows", word.place)
    return value


# From lark's parse tree to ours: one line per rule of grammar.lark.

Rule = Callable[[list[Any], Span], Any]  # its parts are tokens and what the rules below it made
RULES: dict[str, Rule] = {
    "by": by,
    "or": lambda parts, at: Or(terms=tuple(parts), place=at),
    "and": lambda parts, at: And(terms=tuple(parts), place=at),
    "not": lambda parts, at: Not(term=parts[0], place=at),
    "comparison": lambda parts, at: Comparison(
        comparator=Comparator("=" if parts[1] == "==" else parts[1]), left=parts[0], right=parts[2], place=at
    ),
    "between": lambda parts, at: Between(value=parts[0], low=parts[1], high=parts[2], place=at),
    "not_between": lambda parts, at: Between(value=parts[0], low=parts[1], high=parts[2], negated=True, place=at),
    "arithmetic": lambda parts, at: Arithmetic(operator=Operator(parts[1]), left=parts[0], right=parts[2], place=at),
    "negative": lambda parts, at: Negative(value=parts[1], place=at),
    "negative_literal": lambda parts, at: Negative(value=parts[1], place=at),
    "call": lambda parts, at: Call(function=Function(parts[0].lower()), arguments=tuple(parts[1:]), place=at),
    "operand": lambda parts, at: operand(parts[0].lower(), parts[1:], at),
    "column": lambda parts, at: BareName(
        name=written(*(read_text(token) if token.startswith("`") else token for token in parts)), place=at
    ),
    "keyword": lambda parts, at: Keyword(name=parts[0].lower(), value=parts[1], place=at),
    "step": lambda parts, at: WrittenStep(text=str(parts[0]), place=at),
    "number": lambda parts, at: Number(value=read_number(parts[0], at), place=at),
    "percentage": lambda parts, at: Percentage(percent=float(read_number(parts[0], at)), place=at),
    "duration": lambda parts, at: Duration(seconds=read_duration(parts[0], at), place=at),
    "text": lambda parts, at: Text(value=read_text(parts[0]), place=at),
}


def build(parsed: Tree[Token]) -> Any:
    """The tree of an assertion or expression; raises ParseRefusal where the grammar allows more than the language does.

    Without recursion, as a text of a thousand words may be nested as deep.
    """
    built: dict[int, Any] = {}
    for tree in parsed.iter_subtrees():
        parts = [built[id(child)] if isinstance(child, Tree) else child for child in tree.children]
        place = Span(start=tree.meta.start_pos, end=tree.meta.end_pos)
        built[id(tree)] = RULES[tree.data](parts, place)
    return built[id(parsed)]
