"""Which datasets and columns a template is applied to."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog.profile import Column, ColumnSelector, Selector
from test_generator.templates.rules import in_words, selected_columns, selects
from tests.unit.test_generator.profiles import dataset
from tests.unit.test_generator.templates.written import table


def fits(selector: Selector, name: str = "raw.trips", tier: int = 1, tags: tuple[str, ...] = ("pii", "eu")) -> bool:
    return selects(selector, name=name, tier=tier, tags=tags, owner="ann", team="rides")


@pytest.mark.parametrize(
    ("keys", "is_selected"),
    [
        ({}, True),
        ({"tiers": (0, 1)}, True),
        ({"tiers": (0, 2)}, False),
        ({"tags": ("finance", "eu")}, True),
        ({"tags": ("finance",)}, False),
        ({"names": ("raw.*",)}, True),
        ({"names": ("RAW.Tri??",)}, True),
        ({"names": ("raw",)}, False),
        ({"names": ("raw.*",), "excluded": ("*.trips",)}, False),
        ({"excluded": ("mart.*",)}, True),
        ({"owners": ("ann", "bob")}, True),
        ({"owners": ("rides",)}, True),
        ({"owners": ("bob",)}, False),
        ({"tiers": (1,), "tags": ("us",)}, False),
        ({"tiers": (1,), "tags": ("eu",), "names": ("mart.*",)}, False),
    ],
)
def test_a_dataset_is_selected_by_one_value_of_every_key(keys: dict[str, Any], is_selected: bool) -> None:
    assert fits(Selector(**keys)) is is_selected


@given(
    keys=st.fixed_dictionaries(
        {
            "tiers": st.lists(st.integers(0, 2), max_size=2),
            "tags": st.lists(st.sampled_from("ab"), max_size=2),
            "names": st.lists(st.sampled_from(["raw.*", "*.a", "mart.b"]), max_size=2),
            "excluded": st.lists(st.sampled_from(["raw.a", "mart.*"]), max_size=1),
        }
    ),
    tier=st.integers(0, 2),
    tags=st.lists(st.sampled_from("abc"), max_size=2),
    name=st.sampled_from(["raw.a", "raw.b", "mart.a", "mart.b"]),
)
def test_a_dataset_is_selected_as_sets_and_patterns_say(
    keys: dict[str, Any], tier: int, tags: list[str], name: str
) -> None:
    def like(globs: list[str]) -> bool:
        return any(re.fullmatch(glob.replace(".", r"\.").replace("*", ".*"), name) for glob in globs)

    expected = not like(keys["excluded"])
    expected &= tier in keys["tiers"] or not keys["tiers"]
    expected &= bool(set(tags) & set(keys["tags"])) or not keys["tags"]
    expected &= like(keys["names"]) or not keys["names"]
    told: dict[str, Any] = {key: tuple(values) for key, values in keys.items()}
    assert fits(Selector(**told), name, tier, tuple(tags)) is expected


@pytest.mark.parametrize(
    ("keys", "columns"),
    [
        ({}, ("trip_id", "city", "at")),
        ({"names": ("*_ID", "c*")}, ("trip_id", "city")),
        ({"kinds": ("temporal", "text")}, ("city", "at")),
        ({"names": ("*i*",), "kinds": ("numeric",)}, ("trip_id",)),
        ({"names": ("fare",)}, ()),
    ],
)
def test_columns_are_selected_by_name_and_kind(keys: dict[str, Any], columns: tuple[str, ...]) -> None:
    assert selected_columns(ColumnSelector(**keys), table()) == columns


def test_a_column_of_any_name_and_a_field_of_a_struct_are_written_as_assertions_write_them() -> None:
    columns = (Column(name="order id", type="int"), Column(name="to", type="struct<city:string,zip code:int>"))
    told = dataset(columns=columns)
    assert selected_columns(ColumnSelector(names=("order *",)), told) == ("`order id`",)
    assert selected_columns(ColumnSelector(names=("to.*",)), told) == ("to.city", "to.`zip code`")


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (Selector(), "every dataset"),
        (Selector(tiers=(0, 1), tags=("pii",)), "tier 0 or 1, tagged pii"),
        (Selector(names=("raw.*", "a.b", "c.d"), excluded=("raw.x",)), "named raw.*, a.b or c.d, except raw.x"),
        (Selector(owners=("ann", "rides")), "of ann or rides"),
        (Selector(columns=ColumnSelector()), "every dataset; all columns"),
        (Selector(columns=ColumnSelector(kinds=("text",))), "every dataset; all text columns"),
        (
            Selector(tiers=(2,), columns=ColumnSelector(names=("*_id",), kinds=("numeric", "text"))),
            "tier 2; numeric or text columns named *_id",
        ),
    ],
)
def test_a_selector_is_told_in_words(selector: Selector, words: str) -> None:
    assert in_words(selector) == words
