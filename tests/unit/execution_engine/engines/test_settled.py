"""Names with a dot: fields of structs, or columns of the whole name."""

import pytest

from execution_engine.engines.columns.spec_check import check_spec, settled
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.spec import MetricSpec

COLUMNS = ("id", "item", "item.one", "`item.one`", "`order.id`", "`order id`")


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("item.one", "item.one"),
        ("`item.one`", "`item.one`"),
        ("order.id", "`order.id`"),
        ("Order.Id", "`Order.Id`"),
        ("item.two", "item.two"),
        ("order.no", "order.no"),
        ("id", "id"),
    ],
)
def test_a_name_with_a_dot_is_a_field_unless_no_column_begins_so(column: str, meant: str) -> None:
    spec = settled(MetricSpec(name="row_count", columns=(column,), by=(column,)), COLUMNS)
    assert (spec.columns, spec.by) == ((meant,), (meant,))


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("item.one > 1", "item.one > 1"),
        ("order.id > 1 and item.one < 2", "`order.id` > 1 AND `item`.`one` < 2"),
        ("order.id", "`order.id`"),
        ("id > 0.5", "id > 0.5"),
        ("order.id > ", "order.id > "),
    ],
)
def test_so_it_is_in_conditions(condition: str, meant: str) -> None:
    spec = MetricSpec(name="compliance", arguments=(condition,), where=condition)
    found = settled(spec, COLUMNS)
    assert (found.arguments, found.where) == ((meant,), meant)


def test_a_text_that_is_no_condition_stays_as_it_is() -> None:
    spec = MetricSpec(name="query", arguments=("select order.id from order",))
    assert settled(spec, COLUMNS) == spec


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (MetricSpec(name="completeness", columns=("item.on",)), "has no column item.on; did you mean item.one?"),
        (MetricSpec(name="completeness", columns=("order.no",)), "has no column order.no; did you mean `order.id`?"),
        (MetricSpec(name="row_count", where="order.no > 1"), "has no column order.no; did you mean `order.id`?"),
        (MetricSpec(name="row_count", where="`order idd` > 1"), "has no column `order idd`; did you mean `order id`?"),
    ],
)
def test_the_name_that_is_suggested_can_be_pasted(spec: MetricSpec, told: str) -> None:
    failure = check_spec(spec, dict.fromkeys(COLUMNS, ColumnKind.ANY), "shop.orders", engine="spark")
    assert failure is not None
    assert told in failure.detail
