"""Which of its dataset's declared columns an assertion holds the data to, and from when on."""

from datetime import datetime
from typing import Any

import pytest

from assay.catalog.column_types import Declared, print_of
from assay.models import Dataset, Scope
from test_generator.data_tests import declared_print, judges_from
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory

pytestmark = pytest.mark.django_db

FIRST, SECOND, THIRD = (NOW - days * DAY for days in (9, 7, 5))
ID = Declared(name="id", type="bigint", is_key=True, since=SECOND)
FARE = Declared(name="fare", type="double", is_key=False, since=FIRST)
TIP = Declared(name="tip", type="double", is_key=False, since=THIRD)
OTHER = "row_count() >= 1"


def table(**more: Any) -> Dataset:
    """A table that declares its fare first, its key later, and the tip last."""
    columns = [{"name": each.name, "type": each.type} for each in (ID, FARE, TIP)]
    declared = {each.name: each.since.isoformat() for each in (ID, FARE, TIP)}
    return DatasetFactory.create(**{"columns": columns, "declared": declared, **more})


@pytest.mark.parametrize(
    ("assertion", "held"),
    [
        ("schema_drift() = 0", [ID, FARE, TIP]),
        ("schema_drift(of='all') = 0", [ID, FARE, TIP]),
        ("schema_drift(of='keys') = 0", [ID]),
        ("schema_drift(of='others') = 0", [FARE, TIP]),
        ("schema_drift(of='others') = 0 and schema_drift(of='keys') = 0", [FARE, TIP, ID]),
        ("schema_drift(of='keys') = 0 and schema_drift() = 0", [ID, FARE, TIP]),
        ("schema_drift(of='keys') <= mean(schema_drift(of='others'), last=7)", [ID, FARE, TIP]),
        ("row_count() >= 1 and schema_drift(of='keys') = 0", [ID]),
        ("schema_drift(declared='id bigint') = 0", []),
        ("schema_drift(declared='id bigint') = 0 and schema_drift(of='keys') = 0", [ID]),
        ("schema_drift(dataset='raw.other') = 0", []),
        ("schema_drift(dataset='raw.other') = 0 and schema_drift(of='keys') = 0", [ID]),
        (OTHER, []),
    ],
)
def test_an_assertion_holds_the_data_to_the_columns_that_its_own_schema_metrics_select(
    assertion: str, held: list[Declared]
) -> None:
    assert declared_print(assertion, table()) == print_of(held)


def test_a_table_that_declares_no_columns_is_held_to_none() -> None:
    assert declared_print("schema_drift() = 0", table(columns=[], declared={})) == ""


@pytest.mark.parametrize(
    ("assertion", "since"),
    [
        ("schema_drift() = 0", FIRST),
        ("schema_drift(of='keys') = 0", SECOND),
        ("schema_drift(of='others') = 0", FIRST),
        ("schema_drift(of='keys') <= mean(schema_drift(of='others'), last=7)", FIRST),
        (OTHER, None),
    ],
)
def test_partitions_are_judged_from_when_the_first_of_these_columns_is_declared(
    assertion: str, since: datetime | None
) -> None:
    test = DataTestFactory.create(dataset=table(), assertion=assertion)
    assert test.revision is not None
    test.revision.declared = declared_print(assertion, test.dataset)
    assert judges_from(test, test.revision) == since


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"dataset": {"partition_column": "", "granularity": ""}}, "printed"),
        ({"scope": Scope.TABLE}, "printed"),
        ({}, ""),
    ],
)
def test_a_whole_table_is_judged_whatever_is_declared_since_when(more: dict[str, Any], told: str) -> None:
    dataset = table(**more.pop("dataset", {}))
    test = DataTestFactory.create(dataset=dataset, assertion="schema_drift() = 0", **more)
    assert test.revision is not None
    test.revision.declared = told
    assert judges_from(test, test.revision) is None
