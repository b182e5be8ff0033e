"""One table of cases for checks in Python and in YAML: what must come of each, worked out by hand, over four tables.

``s`` success, ``f`` failure, ``e`` error, over ``normal``, ``empty``, ``nulls`` and ``nan`` in this order.
"""

from math import nan
from typing import Any

import pyarrow as pa

from execution_engine.verification import Check, above, at_least, between

ITEM = pa.struct([("one", pa.int64()), ("unit price", pa.float64())])
SCHEMA = pa.schema(
    [
        *(("i", pa.int64()), ("n", pa.float64()), ("m", pa.float64()), ("t", pa.string()), ("e", pa.string())),
        *(("item", ITEM), ("item.one", pa.int64()), ("order.id", pa.int64()), ("order id", pa.string())),
        *(("it's `odd`", pa.float64()), ("by", pa.string())),
    ]
)
TABLES: dict[str, dict[str, list[Any]]] = {
    "normal": {
        "i": [1, 2, 2, None],
        "n": [-1.0, 0.0, 2.5, None],
        "m": [0.0, 1.0, 2.0, 3.0],
        "t": ["a", "bb", "7", None],
        "e": ["x@y.org", "see z@y.org", "no", None],
        "item": [{"one": each, "unit price": each / 2} for each in (5, 6, 7, 8)],
        "item.one": [1, 2, 2, None],
        "order.id": [1, 2, 2, None],
        "order id": ["a", "bb", "7", None],
        "it's `odd`": [0.0, 1.0, 2.0, 3.0],
        "by": ["a", "bb", "7", None],
    },
    "empty": {name: [] for name in SCHEMA.names},
    "nulls": {name: [None] * 3 for name in SCHEMA.names},
    "nan": {
        "i": [1, 2, 3],
        "n": [nan, 1.0, 2.0],
        "m": [nan, 2.0, 3.0],
        "t": ["a", "b", "c"],
        "e": ["x@y.org", "mail x@y.org", "<x@y.org>"],
        "item": [{"one": each, "unit price": each / 2} for each in (1, 2, 2)],
        "item.one": [1, 2, 3],
        "order.id": [1, 2, 3],
        "order id": ["a", "b", "c"],
        "it's `odd`": [nan, 2.0, 3.0],
        "by": ["a", "b", "c"],
    },
}
KEEP = {"columns": ["i", "t"], "nulls": "keep"}
Case = tuple[Check, dict[str, Any], str]

RULES: list[Case] = [
    (Check().is_complete("i"), {"is_complete": "i"}, "fsfs"),
    (Check().is_complete("n"), {"is_complete": ["n"]}, "fsfs"),
    (Check().are_complete("i", "m"), {"are_complete": ["i", "m"]}, "fsfs"),
    (Check().is_unique("m"), {"is_unique": "m"}, "ssss"),
    (Check().is_unique("i"), {"is_unique": ["i"]}, "fsss"),
    (Check().is_unique("i", "t", nulls="keep"), {"is_unique": KEEP}, "ssss"),
    (Check().is_primary_key("m"), {"is_primary_key": "m"}, "ssfs"),
    (Check().is_primary_key("i", "t"), {"is_primary_key": ["i", "t"]}, "fsfs"),
    (Check().is_non_negative("n"), {"is_non_negative": "n"}, "fssf"),
    (Check().is_non_negative("m"), {"is_non_negative": "m"}, "sssf"),
    (Check().is_non_negative("i"), {"is_non_negative": "i"}, "ssss"),
    (Check().is_non_negative("t"), {"is_non_negative": "t"}, "eeee"),
    (Check().is_positive("m"), {"is_positive": "m"}, "fssf"),
    (Check().is_positive("i"), {"is_positive": "i"}, "ssss"),
    (Check().is_positive("t"), {"is_positive": "t"}, "eeee"),
    (Check().is_less_than("n", "m"), {"is_less_than": ["n", "m"]}, "fssf"),
    (Check().is_contained_in("t", ["a", "bb", "7"]), {"is_contained_in": {"t": ["a", "bb", "7"]}}, "sssf"),
    (Check().is_in_range("n", (-1, 2.5)), {"is_in_range": {"n": [-1, 2.5]}}, "sssf"),
    (Check().is_in_range("i", (1, 2)), {"is_in_range": {"i": [1, 2]}}, "sssf"),
    (Check().is_in_range("t", (1, 2)), {"is_in_range": {"t": [1, 2]}}, "eeee"),
    (Check().has_pattern("t", "^[a-z]+$"), {"has_pattern": {"t": "^[a-z]+$"}}, "fsss"),
    (Check().has_pattern("i", "1"), {"has_pattern": {"i": "1"}}, "eeee"),
    (Check().has_data_type("t", "text"), {"has_data_type": {"t": "text"}}, "fsss"),
    (Check().contains_email("e"), {"contains_email": "e"}, "fsss"),
    (Check().contains_url("e"), {"contains_url": "e"}, "fssf"),
    (Check().contains_credit_card_number("e"), {"contains_credit_card_number": "e"}, "fssf"),
    (Check().contains_social_security_number("e"), {"contains_social_security_number": "e"}, "fssf"),
    (Check().satisfies("m >= 0"), {"satisfies": "m >= 0"}, "ssfs"),  # of NULL and NaN what Spark says
    (Check().satisfies_if("i = 2", "m > 0"), {"satisfies_if": ["i = 2", "m > 0"]}, "ssss"),
]
METRICS: list[Case] = [
    (Check().has_size(4), {"row_count": 4}, "sfff"),
    (Check(where="m < 2").has_size(2), {"row_count": 2, "where": "m < 2"}, "sfff"),
    (Check().has_completeness("i", at_least(0.75)), {"completeness": {"i": ">= 0.75"}}, "sefs"),
    (Check().has_uniqueness("i", at_least(0.3)), {"uniqueness(i)": ">= 0.3"}, "sees"),  # 1/3
    (Check().has_distinctness("i", at_least(0.6)), {"distinctness(i)": ">= 0.6"}, "sees"),  # 2/3
    (Check().has_unique_value_ratio("i", 0.5), {"unique_value_ratio(i)": 0.5}, "seef"),
    (Check().has_count_distinct("i", 2), {"count_distinct(i)": 2}, "sfff"),
    (Check().has_approx_count_distinct("t", 3), {"approx_count_distinct": {"t": 3}}, "sffs"),
    (Check().has_min("n", -1), {"min(n)": -1}, "seee"),
    (Check().has_min("i", 1), {"min": {"i": 1}}, "sees"),
    (Check().has_max("n", 2.5), {"max(n)": 2.5}, "seee"),
    (Check().has_max("i", 2), {"max(i)": 2}, "seef"),
    (Check().has_max("t", 2), {"max(t)": 2}, "eeee"),
    (Check().has_mean("m", 1.5), {"mean(m)": 1.5}, "seee"),
    (Check().has_sum("i", 5), {"sum(i)": 5}, "seef"),
    (Check().has_sum("t", 5), {"sum(t)": 5}, "eeee"),
    (Check().has_standard_deviation("i", between(0.47, 0.48)), {"stddev(i)": "between 0.47 and 0.48"}, "seef"),
    (Check().has_quantile("i", 0.5, 2), {"quantile(i, 0.5)": 2}, "sees"),
    (Check().has_approx_quantile("i", 1.0, 2), {"approx_quantile(i, 1)": 2}, "seef"),
    (Check().has_entropy("i", between(0.63, 0.64)), {"entropy(i)": "between 0.63 and 0.64"}, "seef"),
    (
        Check().has_mutual_information("i", "t", between(0.63, 0.64)),
        {"mutual_information(i, t)": "between 0.63 and 0.64"},
        "seef",
    ),
    (Check().has_correlation("n", "m", above(0.9)), {"correlation(n, m)": "> 0.9"}, "seee"),  # 3.5 / √13
    (Check().has_ratio_of("t", "a", 0.25), {"ratio_of(t, 'a')": 0.25}, "seff"),
    (Check().has_min_length("t", 1), {"min_length": {"t": 1}}, "sees"),
    (Check().has_min_length("i", 1), {"min_length": {"i": 1}}, "eeee"),
    (Check().has_max_length("t", 2), {"max_length": {"t": 2}}, "seef"),
    (Check().holds("row_count() > 0"), {"assertion": "row_count() > 0"}, "sfss"),
]
# A field of a struct, a column of the very name, one with a dot and no such struct, and others that need backticks.
NAMED: list[Case] = [
    (Check().is_complete("item.one"), {"is_complete": "item.one"}, "ssfs"),
    (Check().is_complete("`item.one`"), {"is_complete": "`item.one`"}, "fsfs"),
    (Check().is_complete("order.id"), {"is_complete": "order.id"}, "fsfs"),
    (Check().is_complete("order id"), {"is_complete": ["order id"]}, "fsfs"),
    (Check().are_complete("order.id", "it's `odd`"), {"are_complete": ["order.id", "it's `odd`"]}, "fsfs"),
    (Check().is_unique("item.one"), {"is_unique": "item.one"}, "sssf"),
    (Check().is_unique("`item.one`"), {"is_unique": ["`item.one`"]}, "fsss"),
    (Check().is_unique("order.id", "order id"), {"is_unique": ["order.id", "order id"]}, "ssss"),
    (Check().is_primary_key("it's `odd`"), {"is_primary_key": "it's `odd`"}, "ssfs"),
    (Check().is_primary_key("order id"), {"is_primary_key": ["order id"]}, "fsfs"),
    (Check().is_non_negative("it's `odd`"), {"is_non_negative": "it's `odd`"}, "sssf"),
    (Check().is_less_than("item.unit price", "item.one"), {"is_less_than": ["item.unit price", "item.one"]}, "ssss"),
    (
        Check().is_contained_in("order id", ["a", "bb", "7"]),
        {"is_contained_in": {"order id": ["a", "bb", "7"]}},
        "sssf",
    ),
    (Check().is_in_range("order.id", (1, 2)), {"is_in_range": {"order.id": [1, 2]}}, "sssf"),
    (Check().has_pattern("order id", "^[a-z]+$"), {"has_pattern": {"order id": "^[a-z]+$"}}, "fsss"),
    (Check().has_data_type("by", "text"), {"has_data_type": {"by": "text"}}, "fsss"),
    (
        Check().satisfies("`order.id` > 0 or `order.id` is null"),
        {"satisfies": "order.id > 0 or order.id is null"},
        "ssss",
    ),
    (Check(where="`item.one` = 2").has_size(2), {"row_count": 2, "where": "`item.one` = 2"}, "sfff"),
    (Check(where="item.one = 6").has_size(1), {"row_count": 1, "where": "item.one = 6"}, "sfff"),
    (Check().has_completeness("order id", at_least(0.75)), {"completeness": {"order id": ">= 0.75"}}, "sefs"),
    (Check().has_max("item.one", 8), {"max(item.one)": 8}, "seef"),
    (Check().has_max("`item.one`", 2), {"max(`item.one`)": 2}, "seef"),
    (Check().has_sum("it's `odd`", 6), {"sum(`it's ``odd```)": 6}, "seee"),
    (Check().has_quantile("order.id", 0.5, 2), {"quantile(`order.id`, 0.5)": 2}, "sees"),
    (Check().has_entropy("by", between(1.09, 1.1)), {"entropy(by)": "between 1.09 and 1.1"}, "sees"),
    (Check().has_count_distinct("order id", 3), {"count_distinct(`order id`)": 3}, "sffs"),
    (Check().has_correlation("item.one", "it's `odd`", 1), {"correlation(item.one, `it's ``odd```)": 1}, "seee"),
]
