"""Names of columns: any of them has one writing, which says which column it is."""

import pytest
from hypothesis import given

from execution_engine.language.parse import parse
from execution_engine.language.serialise import from_json, to_json, to_text
from execution_engine.language.tree import By, Metric, operands
from execution_engine.metrics.expressions import listed, named, path_of, written
from execution_engine.metrics.spec import MetricSpec
from tests.unit.execution_engine.language.trees import paths


@given(paths)
def test_every_column_is_found_again_by_what_is_written_of_it(path: list[str]) -> None:
    assert path_of(written(*path)) == tuple(path)
    assert named(written(*path)) == written(*path)


@given(paths, paths)
def test_a_metric_of_any_column_is_read_again_from_its_text(one: list[str], other: list[str]) -> None:
    spec = MetricSpec(name="distinct_count", columns=(written(*one), written(*other)))
    (found,) = operands(parse(f"{spec.text} > 0"))
    assert isinstance(found, Metric)
    assert found.spec == spec
    assert tuple(map(path_of, found.spec.columns)) == (tuple(one), tuple(other))


@given(paths)
def test_groups_by_any_column_are_read_again_from_their_text_and_from_json(path: list[str]) -> None:
    tree = parse(f"row_count() > 0 by {written(*path)} for 95 % of groups")
    assert isinstance(tree, By)
    assert tree.columns == (written(*path),)
    assert parse(to_text(tree)) == from_json(to_json(tree)) == tree


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("completeness(`city`) > 0", "completeness(city) > 0"),
        ("completeness(`item.one`) > 0", "completeness(`item.one`) > 0"),
        ("completeness(item.one) > 0", "completeness(item.one) > 0"),
        ("completeness(`item`.`one`) > 0", "completeness(item.one) > 0"),
        ("completeness(item.`unit price`) > 0", "completeness(item.`unit price`) > 0"),
        ("completeness(`a``b`) > 0", "completeness(`a``b`) > 0"),
        ("completeness(`a, 'b' # c`) > 0", "completeness(`a, 'b' # c`) > 0"),
        ("completeness(by) > 0 by `by`", "completeness(by) > 0 by by"),
    ],
)
def test_backticks_are_written_where_they_must_be_and_nowhere_else(text: str, read: str) -> None:
    assert to_text(parse(text)) == read


@pytest.mark.parametrize(
    ("given_", "path"),
    [
        *[("city", ("city",)), ("order id", ("order id",)), ("item.one", ("item", "one"))],
        ("`item.one`", ("item.one",)),
        ("item.unit price", ("item", "unit price")),
        *[("it`s", ("it`s",)), ("a..b", ("a..b",)), ("`a", ("`a",))],
    ],
)
def test_a_name_as_people_give_it_is_one_column(given_: str, path: tuple[str, ...]) -> None:
    assert path_of(given_) == path
    assert path_of(named(given_)) == path


def test_columns_in_one_text_stand_apart_by_commas_outside_backticks() -> None:
    assert listed("id, order id, `a,b`, item.one") == ("id", "`order id`", "`a,b`", "item.one")
