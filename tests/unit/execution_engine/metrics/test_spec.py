"""The identity of a metric: its canonical call and its JSON."""

from dataclasses import replace

import pytest

from execution_engine.metrics.definition import (
    ColumnKind,
    Dimension,
    Grouping,
    MetricDefinition,
    MetricKind,
    Signature,
    ValueType,
    column_kind,
)
from execution_engine.metrics.spec import Literal, MetricSpec, quoted
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Summary

FULL = MetricSpec(
    name="quantile",
    columns=("fare", "`order id`"),
    arguments=(0.5, "x", 3),
    options=(("b", "y"), ("a", 1), ("c", True)),
    where="city = 'x'",
    by=("city", "status"),
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *[("a", "'a'"), ("it's", '"it\'s"'), ('say "a"', "'say \"a\"'"), ('it\'s "a"', "'it''s \"a\"'")],
        *[("a\\b", "'a\\b'"), ("", "''")],
    ],
)
def test_a_text_is_quoted_so_that_it_reads_back(text: str, written: str) -> None:
    assert quoted(text) == written


def test_the_canonical_call_has_everything_in_one_order() -> None:
    call = "quantile(fare, `order id`, 0.5, 'x', 3, a=1, b='y', c=True, where=\"city = 'x'\")"
    assert (FULL.call, FULL.grouping, FULL.text) == (call, " by city, status", f"{call} by city, status")
    plain = MetricSpec(name="row_count")
    assert (plain.call, plain.grouping, plain.text) == ("row_count()", "", "row_count()")
    assert MetricSpec(name="f", where="").call == "f(where='')"


def test_an_option_is_known_by_its_name() -> None:
    found: list[Literal | None] = [FULL.option("a"), FULL.option("b", 7), FULL.option("z", 7), FULL.option("z")]
    assert found == [1, "y", 7, None]


def test_a_spec_is_written_in_full_and_read_back() -> None:
    assert FULL.to_json() == {
        "name": "quantile",
        "columns": ["fare", "`order id`"],
        "arguments": [0.5, "x", 3],
        "options": {"b": "y", "a": 1, "c": True},
        "where": "city = 'x'",
        "by": ["city", "status"],
    }
    again = MetricSpec.from_json(FULL.to_json())
    assert again == MetricSpec(
        name="quantile",
        columns=FULL.columns,
        arguments=FULL.arguments,
        options=(("a", 1), ("b", "y"), ("c", True)),
        where=FULL.where,
        by=FULL.by,
    )


def test_a_spec_without_groups_says_nothing_of_them() -> None:
    plain = MetricSpec(name="row_count")
    data: dict[str, object] = {"name": "row_count", "columns": [], "arguments": [], "options": {}, "where": None}
    assert plain.to_json() == data
    assert MetricSpec.from_json(data) == plain
    assert (plain.columns, plain.arguments, plain.options, plain.where, plain.by) == ((), (), (), None, ())


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        (ColumnKind.NUMERIC, "int integer INT tinyint smallint bigint long short byte float double real decimal(10,2)"),
        (ColumnKind.NUMERIC, "dec numeric BIGINT"),
        (ColumnKind.TEXT, "string char(3) varchar(10) text STRING"),
        (ColumnKind.TEMPORAL, "date timestamp datetime time timestamp_ntz"),
        (ColumnKind.ANY, "interval boolean binary array<int> struct<a:int> x pint xdate"),
    ],
)
def test_the_kind_of_a_column_is_told_by_its_declared_type(kind: ColumnKind, declared: str) -> None:
    assert {type_: column_kind(type_) for type_ in declared.split()} == dict.fromkeys(declared.split(), kind)


def test_a_signature_takes_nothing_but_a_where_unless_it_says_so() -> None:
    plain = Signature(name="f")
    assert (plain.min_columns, plain.max_columns, plain.column_kind) == (0, 0, ColumnKind.ANY)
    assert (plain.arguments, plain.options, plain.returns) == ((), {}, ValueType.NUMBER)
    assert (plain.takes_where, plain.needs_datacenter) == (True, False)


def definition(kind: MetricKind, name: str = "f") -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name),
        kind=kind,
        formula="N",
        source="ours",
        meaning="how many rows there are",
        dimension=Dimension.COMPLETENESS,
    )


@pytest.mark.parametrize(
    ("kind", "merges"),
    [
        *[
            (MetricKind.AGGREGATE, True),
            (MetricKind.SKETCH, True),
            (MetricKind.GROUPING, True),
            (MetricKind.COMPOUND, False),
        ],
        *[(MetricKind.DERIVED, False), (MetricKind.LAYOUT, False)],
    ],
)
def test_states_of_statistics_and_keys_merge(kind: MetricKind, merges: bool) -> None:
    assert definition(kind).merges(MetricSpec(name="f")) is merges
    assert definition(kind).name == "f"


def test_what_gathers_a_statistic_that_does_not_merge_has_no_state() -> None:
    exact = replace(
        definition(MetricKind.AGGREGATE),
        statistics=lambda spec, write: {"all": Statistic(gather=Gather.PERCENTILE, of=("x",)), "rows": ROWS},
    )
    assert not exact.merges(MetricSpec(name="f"))


def test_a_definition_is_portable_and_tells_no_values_unless_it_says_so() -> None:
    plain = definition(MetricKind.AGGREGATE)
    assert (plain.portable, plain.tells_values, plain.inputs) == (True, False, ())
    functions = (plain.statistics, plain.value, plain.detail, plain.groupings, plain.from_summaries)
    assert {*functions, plain.detail_of_keys, plain.breaks, plain.problem} == {None}
    assert (Grouping(columns=("a",)).present, Grouping(columns=("a",)).partial) == ((), False)


@pytest.mark.parametrize("gather", Gather)
def test_every_statistic_but_an_exact_quantile_merges(gather: Gather) -> None:
    found = Statistic(gather=gather, of=("x",))
    assert found.merges is (gather != "percentile")
    assert found.is_sketch is (gather in ("hll", "kll", "keys"))
    assert (found.argument, found.column) == (None, None)


def test_a_summary_of_nothing_is_all_zero() -> None:
    assert Summary() == Summary(
        rows=0, distinct=0, single=0, most=0, weighted_logs=0.0, distinct_with_nulls=0, rows_with_nulls=0
    )
    assert Summary().entropy is None


def test_the_types_of_values_are_told_under_these_words() -> None:
    assert {each.value for each in ValueType} == {"number", "duration"}
