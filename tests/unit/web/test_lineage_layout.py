"""A lineage is laid out so that what is bad is seen, with sixty datasets around and with six hundred."""

from web.rendering.lineage import Graph, LineageNode
from web.rendering.lineage_layout import MOST_BOXES, Box, Drawing, bad_path, lay_out
from web.rendering.status import DisplayStatus

GOOD, BAD = DisplayStatus.GOOD, DisplayStatus.BAD
Edges = tuple[tuple[int, int], ...]


def graph(edges: Edges, columns: dict[int, int], bad: tuple[int, ...] = ()) -> Graph:
    """Datasets by their ids, of which 0 is here."""
    nodes = tuple(
        LineageNode(id=id_, name=f"raw.t{id_:03}", tier=2, status=BAD if id_ in bad else GOOD, column=column)
        for id_, column in columns.items()
    )
    return Graph(here=0, nodes=nodes, edges=edges)


def star(count: int, bad: tuple[int, ...] = ()) -> Graph:
    """So many datasets upstream of one."""
    ids = range(1, count + 1)
    return graph(tuple((id_, 0) for id_ in ids), {0: 0, **dict.fromkeys(ids, -1)}, bad)


def names(boxes: tuple[Box, ...]) -> list[str]:
    return [box.node.name if box.node else f"+ {box.count} {box.status}" for box in boxes]


def drawn(whole: Graph, *, depth: int = 2, unfolded: int | None = None, most: int = 0) -> Drawing:
    return lay_out(whole, depth=depth, unfolded=unfolded, most=most, height=76)


def test_good_neighbours_are_one_box_and_the_bad_ones_stand_above_it() -> None:
    upstream, here = drawn(star(60, bad=(0, 17, 48))).columns
    assert names(upstream.boxes) == ["raw.t017", "raw.t048", "+ 58 good"]
    assert names(here.boxes) == ["raw.t000"]


def test_few_good_neighbours_stand_by_themselves() -> None:
    assert names(drawn(star(3)).columns[0].boxes) == ["raw.t001", "raw.t002", "raw.t003"]


def test_of_six_hundred_bad_ones_a_few_are_drawn_and_the_others_are_one_box() -> None:
    drawing = drawn(star(600, bad=tuple(range(601))))
    assert [box.count for box in drawing.columns[0].boxes] == [1] * MOST_BOXES + [600 - MOST_BOXES]
    assert drawing.height < 800


def test_a_column_unfolds_a_hundred_at_a_time() -> None:
    (upstream, _), folded = drawn(star(600)).columns, drawn(star(600)).columns[0]
    assert (names(upstream.boxes), folded.more) == (["+ 600 good"], 100)
    unfolded = drawn(star(600), unfolded=-1, most=100).columns[0]
    assert (len(unfolded.boxes), names(unfolded.boxes)[-1], unfolded.more) == (101, "+ 500 good", 200)


def test_one_alone_is_never_folded() -> None:
    assert "+" not in "".join(names(drawn(star(101), unfolded=-1, most=100).columns[0].boxes))


def test_the_bad_path_leads_along_bad_ones_alone_and_is_drawn_however_far_it_goes() -> None:
    chain, columns = ((3, 2), (2, 1), (1, 0), (0, 4), (5, 1), (6, 5)), {0: 0, 1: -1, 2: -2, 3: -3, 4: 1, 5: -2, 6: -3}
    whole = graph(chain, columns, bad=(0, 1, 2, 3, 6))
    assert bad_path(whole) == {0: 0, 1: -1, 2: -2, 3: -3}  # 6 is bad, but what lies between is good
    assert bad_path(whole, hidden=[2]) == {0: 0, 1: -1}
    drawing = drawn(whole, depth=1)
    assert [column.hop for column in drawing.columns] == [-3, -2, -1, 0, 1]
    assert [line.is_on_path for line in drawing.lines] == [False, True, True, True]


def test_nothing_is_a_path_to_what_is_good() -> None:
    assert bad_path(star(5, bad=(1, 2))) == {}


def test_a_known_cause_goes_before_all_else_that_is_bad() -> None:
    drawing = lay_out(star(60, bad=tuple(range(61))), depth=1, height=76, chain=(0, 59))
    assert names(drawing.columns[0].boxes)[0] == "raw.t059"
    assert [line.is_on_path for line in drawing.lines].count(True) == 1


def test_a_cause_and_its_effects_are_on_the_path_whatever_their_status() -> None:
    drawing = lay_out(graph(((2, 1), (1, 0)), {0: 0, 1: -1, 2: -2}), depth=1, height=76, chain=(2, 1, 0))
    assert all(line.is_on_path for line in drawing.lines)
    assert len(drawing.columns) == 3


def test_lines_to_folded_ones_are_one_line_from_box_to_box() -> None:
    (line,) = drawn(star(60)).lines
    assert line.path == "M208 38C228 38 228 38 248 38"


def test_each_lies_beside_what_it_is_joined_to() -> None:
    whole = graph(((3, 1), (4, 2), (1, 0), (2, 0)), {0: 0, 1: -1, 2: -1, 4: -2, 3: -2})
    assert names(drawn(whole).columns[0].boxes) == ["raw.t003", "raw.t004"]


def test_circles_end_and_are_drawn() -> None:
    drawing = drawn(graph(((0, 1), (1, 0)), {0: 0, 1: -1}, bad=(0, 1)))
    assert [line.is_on_path for line in drawing.lines] == [True, True]
