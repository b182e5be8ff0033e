"""From the text of an assertion to its tree."""

from functools import cache
from importlib.resources import files
from unicodedata import category

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from execution_engine.language.problem import ParseRefusal, Problem, Span
from execution_engine.language.tree import Assertion, Expression, History, Metric, Node
from execution_engine.language.walk import depth, postorder

from .bare import end_of_name, mending_of_bare
from .expected import describe, mending
from .tree_builder import build

MAX_BYTES = 4096
MAX_TOKENS = 1024
MAX_NODES = 256
MAX_DEPTH = 32  # of nodes, and of parentheses
MAX_OPERANDS = 32
MAX_FOUND = 60  # characters of what was found that a message repeats
ASSERTION, EXPRESSION = "start", "sum"  # the rules of the grammar that a text may be read by
BOUNDS = ("COMPARATOR", "_BETWEEN", "_NOT")
NO_BOUND = "an expression has no bound: end it here, and write the bound in a test of its own"
_HIDDEN = ("Cc", "Cf", "Cs")  # control, format (byte order mark, right-to-left marks), half of a surrogate pair


class UnableToParse(ValueError):
    """A text that is no assertion; the message draws the place and says what was expected there."""

    def __init__(self, problem: Problem, source: str, *, what: str = "assertion") -> None:
        super().__init__(f"Cannot read the {what}: {problem.explain(source)}")
        self.problem = problem


def parse(text: str) -> Assertion:
    """The tree of an assertion; raises UnableToParse."""
    try:
        _check_text(text)
        tree: Assertion = build(_parsed(text))
        _check_size(tree)
    except ParseRefusal as refusal:
        raise UnableToParse(refusal.problem, text) from None
    return tree


def parse_expression(text: str) -> Expression:
    """The tree of a number, such as ``sum(fare) / row_count()``, without a bound; raises UnableToParse."""
    try:
        _check_text(text)
        tree: Expression = build(_parsed(text, EXPRESSION))
        _check_size(tree)
    except ParseRefusal as refusal:
        raise UnableToParse(refusal.problem, text, what="expression") from None
    return tree


@cache
def _grammar() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar, parser="lalr", start=[ASSERTION, EXPRESSION], propagate_positions=True, maybe_placeholders=False
    )


def _parsed(text: str, rule: str = ASSERTION) -> Tree[Token]:
    parser = _grammar().parse_interactive(text, start=rule)
    try:
        _feed(parser)
        tree: Tree[Token] = parser.feed_eof()
    except UnexpectedToken as error:
        end = len(text.rstrip())
        place = (end, end) if error.token.type == "$END" else (error.token.start_pos or 0, error.token.end_pos or 0)
        if rule == EXPRESSION and error.token.type in BOUNDS:
            raise ParseRefusal(NO_BOUND, Span(start=place[0], end=place[1])) from None
        raise _unexpected(text, Span(start=place[0], end=place[1]), parser) from None
    except UnexpectedCharacters as error:
        start = error.pos_in_stream or 0
        raise _unexpected(text, Span(start=start, end=start + 1), parser) from None
    return tree


def _feed(parser: InteractiveParser) -> None:
    """Feeds the tokens one by one, so that a hostile text is refused long before it is read to its end."""
    opened = 0
    for count, token in enumerate(parser.iter_parse(), start=1):
        opened += (token.type == "LPAR") - (token.type == "RPAR")
        if opened > MAX_DEPTH:
            place = Span(start=token.start_pos or 0, end=token.end_pos or 0)
            raise ParseRefusal(f"parentheses may be nested {MAX_DEPTH} deep: use fewer", place)
        if count > MAX_TOKENS:
            raise ParseRefusal(f"it may have {MAX_TOKENS} words and signs: split it into several tests")


def _unexpected(text: str, place: Span, parser: InteractiveParser) -> ParseRefusal:
    expected = parser.accepts()
    if expected == {"LPAR"}:
        return _bare(text, parser.parser_state.value_stack[-1].start_pos)
    if (
        "ABS" in expected
        and text[place.start : place.start + 1] == "`"
        and end_of_name(text, place.start) > place.start
    ):
        return _bare(text, place.start)
    found = text[place.start : place.end]
    shown = found if len(found) <= MAX_FOUND else f"{found[:MAX_FOUND]}…"
    message = f"expected {describe(expected)}, found {repr(shown) if found else 'the end'}"
    mend = mending(text, place.start, expected)
    return ParseRefusal(f"{message}; {mend}" if mend else message, place)


def _bare(text: str, start: int) -> ParseRefusal:
    end = end_of_name(text, start)
    return ParseRefusal(mending_of_bare(text[start:end], text[end:]), Span(start=start, end=end))


def _check_text(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise ParseRefusal(f"it may have {MAX_BYTES} bytes, not {size}: split it into several tests")
    if not text.strip():
        raise ParseRefusal("it is empty: write a comparison such as row_count() > 0")
    for position, character in enumerate(text):
        if has_hidden(character):
            place = Span(start=position, end=position + 1)
            raise ParseRefusal(f"a hidden character U+{ord(character):04X} stands here: delete it", place)


def has_hidden(text: str) -> bool:
    """Whether the text holds a character that readers do not see, and that no assertion may hold."""
    return any(character not in "\t\r\n" and category(character) in _HIDDEN for character in text)


def _check_size(tree: Node) -> None:
    nodes = postorder(tree)
    found = sum(isinstance(node, Metric | History) for node in nodes)
    if len(nodes) > MAX_NODES:
        raise ParseRefusal(f"it may have {MAX_NODES} nodes, not {len(nodes)}: split it into several tests")
    if found > MAX_OPERANDS:
        raise ParseRefusal(f"it may have {MAX_OPERANDS} operands, not {found}: split it into several tests")
    if depth(tree) > MAX_DEPTH:
        raise ParseRefusal(f"it may be nested {MAX_DEPTH} deep, not {depth(tree)}: use fewer steps")
