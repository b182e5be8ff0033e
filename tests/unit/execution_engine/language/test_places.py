"""Where each node and each part of a call stands in its text."""

import pytest

from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.tree import (
    NOWHERE,
    AssertionProblem,
    By,
    History,
    Metric,
    Placed,
    Span,
    depth,
    draw,
    operands,
    postorder,
)


def nodes(text: str) -> list[tuple[str, str]]:
    """Each node's kind with the text at its place, from the leaves up."""
    found = postorder(parse(text))
    return [(type(node).__name__, text[node.place.start : node.place.end]) for node in found]


def under(text: str, placed: Metric | History | By, *parts: str) -> list[str]:
    places = [placed.at(part) for part in parts]
    return [text[place.start : place.end] for place in places]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("not 1 < 2", [("Number", "1"), ("Number", "2"), ("Comparison", "1 < 2"), ("Not", "not 1 < 2")]),
        (" 1 between 2 and 3 ", [("Number", "1"), ("Number", "2"), ("Number", "3"), ("Between", "1 between 2 and 3")]),
        (
            "1 not between -2 and - 3",
            [
                *[("Number", "1"), ("Number", "2"), ("Negative", "-2"), ("Number", "3"), ("Negative", "- 3")],
                ("Between", "1 not between -2 and - 3"),
            ],
        ),
        (
            "5 % < 4h * abs( 1 ) by a",
            [
                *[("Percentage", "5 %"), ("Duration", "4h"), ("Number", "1"), ("Call", "abs( 1 )")],
                ("Arithmetic", "4h * abs( 1 )"),
                ("Comparison", "5 % < 4h * abs( 1 )"),
                ("By", "5 % < 4h * abs( 1 ) by a"),
            ],
        ),
        (
            "'a' = mean( f(), last=2 )",
            [("Text", "'a'"), ("History", "mean( f(), last=2 )"), ("Comparison", "'a' = mean( f(), last=2 )")],
        ),
    ],
)
def test_a_node_stands_where_its_text_does(text: str, found: list[tuple[str, str]]) -> None:
    assert nodes(text) == found


@pytest.mark.parametrize(("joint", "kind"), [("and", "And"), ("or", "Or")])
def test_joined_conditions_span_all_of_theirs(joint: str, kind: str) -> None:
    assert nodes(f" 1 < 2 {joint} 3 < 4")[-1] == (kind, f"1 < 2 {joint} 3 < 4")


def test_every_part_of_a_metric_call_has_its_place() -> None:
    text = "quantile(fare, `b c`, 0.5, -2, n=3, where='x', dataset='y', datacenter='z', ago=7d) > 1"
    (metric,) = operands(parse(text))
    parts = ["column 0", "column 1", "argument 0", "argument 1", "n", "where", "dataset", "datacenter", "ago"]
    pieces = ["fare", "`b c`", "0.5", "-2", "n=3", "where='x'", "dataset='y'", "datacenter='z'", "ago=7d"]
    assert under(text, metric, *parts) == pieces
    whole = text.removesuffix(" > 1")
    assert under(text, metric, "column 2", "argument 2", "", "other") == [whole] * 4


def test_every_part_of_a_history_has_its_place() -> None:
    text = "mean(row_count(ago=1d), last=7, every=1mo, min=2) > lag(row_count(), 3)"
    mean, lag = operands(parse(text))
    whole = "mean(row_count(ago=1d), last=7, every=1mo, min=2)"
    assert under(text, mean, "last", "every", "min", "ago") == ["last=7", "every=1mo", "min=2", whole]
    assert under(text, lag, "last", "every") == ["3", "lag(row_count(), 3)"]
    assert isinstance(mean, History)
    assert under(text, mean.metric, "ago", "last") == ["ago=1d", "row_count(ago=1d)"]


def test_every_part_of_the_groups_has_its_place() -> None:
    text = "row_count() > 0 by city, `b c` for 95 % of groups"
    tree = parse(text)
    assert isinstance(tree, By)
    assert under(text, tree, "column 0", "column 1", "percent", "column 2") == ["city", "`b c`", "95 %", text]
    assert (tree.columns, tree.percent, tree.needed) == (("city", "`b c`"), 95.0, 0.95)
    every = parse("row_count() > 0 by city")
    assert isinstance(every, By)
    assert (every.percent, every.needed, every.at("percent")) == (None, 1.0, every.place)


def test_a_node_that_was_never_written_has_no_place() -> None:
    assert Placed().place == NOWHERE == Span(start=0, end=0)


@pytest.mark.parametrize(("text", "levels"), [("1 < 2", 2), ("not 1 < 2", 3), ("-(-(-1)) < 2", 5), ("f() < abs(1)", 3)])
def test_the_depth_is_the_longest_way_to_a_leaf(text: str, levels: int) -> None:
    assert depth(parse(text)) == levels


LINE = "".join(chr(ord("a") + at % 26) for at in range(200))


@pytest.mark.parametrize(
    ("source", "start", "end", "drawn"),
    [
        ("row_count() > 0", 0, 11, ("row_count() > 0", 0, 11)),
        ("row_count() > 0", 15, 15, ("row_count() > 0", 15, 1)),
        ("1 <\n 2 < x\n3", 5, 6, (" 2 < x", 1, 1)),
        ("1 <\n 2 < x\n3", 4, 99, (" 2 < x", 0, 6)),
        ("1 <\n 2 < x\n3", 3, 4, ("1 <", 3, 1)),
        ("a\tb c", 2, 3, ("a b c", 2, 1)),
        ("東京() < x", 6, 7, ("東京() < x", 8, 1)),
        ("東京() < x", 0, 2, ("東京() < x", 0, 4)),
        ("e\u0301x", 2, 3, ("e\u0301x", 1, 1)),
        (LINE[:100], 99, 100, (LINE[:100], 99, 1)),
        (LINE[:101], 0, 1, (LINE[:100] + "…", 0, 1)),
        (LINE[:101], 50, 51, (LINE[:100] + "…", 50, 1)),
        (LINE[:101], 51, 52, ("…" + LINE[1:101], 51, 1)),
        (LINE, 100, 102, ("…" + LINE[50:150] + "…", 51, 2)),
        (LINE, 199, 200, ("…" + LINE[100:], 100, 1)),
        (LINE, 100, 190, ("…" + LINE[50:150] + "…", 51, 50)),
    ],
)
def test_a_drawing_is_the_line_with_carets_under_the_place(
    source: str, start: int, end: int, drawn: tuple[str, int, int]
) -> None:
    line, blank, carets = drawn
    assert draw(source, Span(start=start, end=end)) == f"  {line}\n  {' ' * blank}{'^' * carets}"


def test_a_problem_of_the_whole_text_is_not_drawn() -> None:
    assert AssertionProblem(message="it is empty").explain("x") == "it is empty"
    assert AssertionProblem(message="wrong", place=Span(start=0, end=1)).explain("x") == "wrong\n  x\n  ^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty: write a comparison such as row_count() > 0"),
        (" \n", "it is empty: write a comparison such as row_count() > 0"),
        ("a\u200b() > 0", "a hidden character U+200B stands here: delete it\n  a () > 0\n   ^"),
        ("x\0 > 0", "a hidden character U+0000 stands here: delete it\n  x  > 0\n   ^"),
        ("f() > 0 #" + "x" * 4088, "it may have 4096 bytes, not 4097: split it into several tests"),
        (" or ".join(["1<2"] * 86), "it may have 256 nodes, not 259: split it into several tests"),
        (" or ".join(["n()<2"] * 33), "it may have 32 operands, not 33: split it into several tests"),
        ("-" * 31 + "1 < 2", "it may be nested 32 deep, not 33: use fewer steps"),
        ("f(" + "a," * 600 + "a) < 1", "it may have 1024 words and signs: split it into several tests"),
        ("(" * 33 + "1", f"parentheses may be nested 32 deep: use fewer\n  {'(' * 33}1\n  {' ' * 32}^"),
        (
            "1." + "1" * 39 + " < 2",
            f"a number may have 40 characters, not 41: round it\n  1.{'1' * 39} < 2\n  {'^' * 41}",
        ),
        ("1e309 < 1", "this number is too large to be held: write one below 1e308\n  1e309 < 1\n  ^^^^^"),
    ],
)
def test_a_text_beyond_a_limit_is_told_what_and_where(text: str, message: str) -> None:
    with pytest.raises(UnableToParse) as refused:
        parse(text)
    assert str(refused.value) == f"Cannot read the assertion: {message}"


@pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 60 + "…")])
def test_what_was_found_is_shown_in_short(length: int, shown: str) -> None:
    with pytest.raises(UnableToParse) as refused:
        parse(f"row_count() > 0 {'x' * length}")
    assert f"found '{shown}'\n" in str(refused.value)
