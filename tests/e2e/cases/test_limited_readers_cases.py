"""What is told of a dataset whose readers are limited: to whom its values, and to whom only that it fails."""

import pytest

from assay import clock
from incident_manager.services import annotate
from tests.e2e.cases.people import body, open_incident, told
from tests.e2e.scenario import Scenario, at, custom, dataset, flow

pytestmark = pytest.mark.django_db

STAFF, PAY, REPORT, BOARD, MONDAY = "hr.staff", "hr.pay", "mart.report", "mart.board", "2026-03-09"
READERS = ("user:board",)


def test_owners_downstream_who_may_not_read_a_dataset_hear_that_it_fails_and_no_value_of_it(scenario: Scenario) -> None:
    tables = [dataset(PAY, readers=READERS), dataset(REPORT), dataset(BOARD)]
    lineage = [flow(PAY, name, one_to_one=False) for name in (REPORT, BOARD)]
    scenario.catalog(*tables, lineage=lineage, custom=[custom(PAY, "all-paid", "row_count() >= 777")])
    for name in (PAY, REPORT, BOARD):
        scenario.land(name, MONDAY, 543)
    scenario.until("2026-03-10 12:00")
    assert (told("opened"), sorted(told("downstream"))) == (["pay"], ["board", "report"])
    values = "all-paid for 2026-03-09 in sea: row_count() = 543, wanted >= 777"
    assert values in body("opened", "pay")
    assert values in body("downstream", "board")
    assert "all-paid for 2026-03-09 in sea: only its readers may see its values\n" in body("downstream", "report")
    assert not any(number in body("downstream", "report") for number in ("543", "777"))


def test_the_owner_of_a_cause_hears_what_it_causes_without_values_that_are_not_for_them(scenario: Scenario) -> None:
    scenario.catalog(dataset(REPORT), dataset(PAY, readers=READERS), lineage=[flow(REPORT, PAY, one_to_one=False)])
    scenario.until("2026-03-10 12:00")
    assert told("opened") == ["report"]
    assert "- hr.pay freshness: only its readers may see its values\n" in body("opened", "report")


def test_who_may_not_read_a_dataset_hears_that_its_rows_are_lost_and_not_late_but_not_how_many(
    scenario: Scenario,
) -> None:
    tables = [dataset(STAFF), dataset(PAY, readers=READERS), dataset(REPORT), dataset(BOARD)]
    reads = [flow(PAY, name, one_to_one=False) for name in (REPORT, BOARD)]
    scenario.catalog(*tables, lineage=[flow(STAFF, PAY), *reads])
    for name, rows in ((STAFF, 1000), (REPORT, 7), (BOARD, 7)):
        scenario.land(name, MONDAY, rows, on="2026-03-10 02:00")
    scenario.until("2026-03-10 11:30")
    assert (told("opened"), sorted(told("downstream"))) == (["pay"], ["board", "report"])
    scenario.land(PAY, MONDAY, 777, on="2026-03-10 12:00")
    scenario.complete(PAY, MONDAY)
    scenario.until("2026-03-10 18:00")
    assert sorted(told("updated")) == ["board", "pay", "report"]
    for reader in ("pay", "board"):
        assert "The rows of hr.pay are not late; they are missing: 77.7 % are there." in body("updated", reader)
        assert "row_count() / row_count(dataset='hr.staff') = 0.777" in body("updated", reader)
    assert "The rows of hr.pay are not late; they are missing" in body("updated", "report")
    lost = "completeness:hr.staff"
    assert f"{lost} for 2026-03-09 in sea: only its readers may see its values\n" in body("updated", "report")
    assert not any(number in body("updated", "report") for number in ("777", "77.7", "1000"))


def test_the_owner_of_a_cause_that_lasts_hears_what_it_causes_anew_without_values_that_are_not_for_them(
    scenario: Scenario,
) -> None:
    scenario.catalog(dataset(REPORT), dataset(PAY, readers=READERS), lineage=[flow(REPORT, PAY, one_to_one=False)])
    scenario.until("2026-03-10 11:30")
    annotate(open_incident(REPORT), author="ada", now=clock.now(), eta=at("2026-03-10 13:00"))
    scenario.until("2026-03-10 13:30")
    assert told("updated") == ["pay", "report"]
    assert "its values are for" not in body("updated", "pay")
    assert "- hr.pay freshness: only its readers may see its values\n" in body("updated", "report")
