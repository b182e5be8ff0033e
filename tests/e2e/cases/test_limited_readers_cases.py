"""What is told of a dataset whose readers are limited: to whom its values, and to whom only that it fails."""

import pytest

from tests.e2e.cases.people import body, told
from tests.e2e.scenario import Scenario, custom, dataset, flow

pytestmark = pytest.mark.django_db

PAY, REPORT, BOARD, MONDAY = "hr.pay", "mart.report", "mart.board", "2026-03-09"
READERS = ("user:board",)


def test_owners_downstream_who_may_not_read_a_dataset_hear_that_it_fails_and_no_value_of_it(scenario: Scenario) -> None:
    tables = [dataset(PAY, readers=READERS), dataset(REPORT), dataset(BOARD)]
    lineage = [flow(PAY, name, one_to_one=False) for name in (REPORT, BOARD)]
    scenario.catalog(*tables, lineage=lineage, custom=[custom(PAY, "all-paid", "row_count() >= 777")])
    for name in (PAY, REPORT, BOARD):
        scenario.land(name, MONDAY, 543)
    scenario.until("2026-03-10 12:00")
    assert (told("opened"), sorted(told("downstream"))) == (["pay"], ["board", "report"])
    values = "row_count() = 543, wanted >= 777; all-paid: row_count() >= 777"
    assert values in body("opened", "pay")
    assert values in body("downstream", "board")
    assert "00:00 UTC in sea: its values are for its readers only; all-paid\n" in body("downstream", "report")
    assert not any(number in body("downstream", "report") for number in ("543", "777"))


def test_the_owner_of_a_cause_hears_what_it_causes_without_values_that_are_not_for_them(scenario: Scenario) -> None:
    scenario.catalog(dataset(REPORT), dataset(PAY, readers=READERS), lineage=[flow(REPORT, PAY, one_to_one=False)])
    scenario.until("2026-03-10 12:00")
    assert told("opened") == ["report"]
    assert "- hr.pay freshness: its values are for its readers only\n" in body("opened", "report")
