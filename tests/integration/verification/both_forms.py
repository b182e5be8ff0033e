"""One table of cases for checks in Python and in YAML: what must come of each, worked out by hand, over four tables.

``s`` success, ``f`` failure, ``e`` error, over ``normal``, ``empty``, ``nulls`` and ``nan`` in this order.
"""

from math import nan
from typing import Any

import pyarrow as pa

from execution_engine.verification import Check, above, at_least, between

SCHEMA = pa.schema(
    [("i", pa.int64()), ("n", pa.float64()), ("m", pa.float64()), ("t", pa.string()), ("e", pa.string())]
)
TABLES: dict[str, dict[str, list[Any]]] = {
    "normal": {
        "i": [1, 2, 2, None],
        "n": [-1.0, 0.0, 2.5, None],
        "m": [0.0, 1.0, 2.0, 3.0],
        "t": ["a", "bb", "7", None],
        "e": ["x@y.org", "see z@y.org", "no", None],
    },
    "empty": {name: [] for name in SCHEMA.names},
    "nulls": {name: [None] * 3 for name in SCHEMA.names},
    "nan": {
        "i": [1, 2, 3],
        "n": [nan, 1.0, 2.0],
        "m": [nan, 2.0, 3.0],
        "t": ["a", "b", "c"],
        "e": ["x@y.org", "mail x@y.org", "<x@y.org>"],
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
