"""The tests that templates make of a dataset, and what they lack."""

from dataclasses import replace
from datetime import timedelta

from assay.catalog.profile import Selector
from test_generator.definition import GapSpec
from test_generator.templates.rules import assertions_of, by_template
from tests.unit.test_generator.profiles import dataset
from tests.unit.test_generator.templates.written import made, of_columns, table, template, texts

FOUR = timedelta(hours=4)
GAP = GapSpec(dataset="raw.trips", category="custom", reason="no wrong() > 1", mendable=False, template="off")


def test_a_template_without_columns_makes_one_test_of_a_dataset_under_its_own_name() -> None:
    assert texts(table(), template()) == {"rows come": "row_count() >= 1"}
    assert texts(table(), template(selector=Selector(tiers=(5,)))) == {}


def test_a_template_makes_a_test_of_each_selected_column() -> None:
    told = table(**{"trip_id": "bigint", "order id": "string"})
    assert texts(told, of_columns(names=("*id",))) == {
        "known: trip_id": "completeness(trip_id) = 1",
        "known: `order id`": "completeness(`order id`) = 1",
    }


def test_braces_of_patterns_and_of_windows_stay() -> None:
    assertion = 'rows(\'{column} rlike "[0-9]{3}\\p{Lu}" and d = "{window.start:date}"\') < {most}'
    told = replace(of_columns(assertion=assertion, names=("city",)), parameters={"most": "{column}"})
    expected = 'rows(\'city rlike "[0-9]{3}\\p{Lu}" and d = "{window.start:date}"\') < {column}'
    assert texts(table(), told) == {"known: city": expected}


def test_an_override_changes_the_named_parameters_of_one_dataset() -> None:
    told = template(
        assertion="row_count() between {least} and {most}",
        parameters={"least": "1", "most": "9"},
        overrides={"RAW.Trips": {"most": "99"}},
    )
    assert texts(table("raw.trips"), told) == {"rows come": "row_count() between 1 and 99"}
    assert texts(table("raw.other"), told) == {"rows come": "row_count() between 1 and 9"}
    assert assertions_of(told, "a") == ("row_count() between 1 and 9", "row_count() between 1 and 99")


def test_what_a_template_leaves_open_is_the_datasets() -> None:
    (own,) = made(table(), template(severity="soft", sustain=timedelta(0), catch_up="all", schedule="weekly")).tests
    (left,) = made(dataset(severity="soft", sustain=FOUR), template()).tests
    (whole,) = made(dataset(partition=None), template()).tests
    assert (own.definition.severity, own.definition.sustain, own.definition.catch_up) == ("soft", timedelta(0), "all")
    assert (own.scope, own.definition.schedule, own.datacenter) == ("table", "weekly", "sea")
    assert (left.definition.severity, left.definition.sustain, left.scope) == ("soft", FOUR, "partition")
    assert (whole.scope, whole.definition.schedule) == ("table", "weekly")


def test_an_assertion_that_does_not_fit_leaves_a_lack_and_the_others_are_made() -> None:
    found = made(table(), template("off", "wrong() > 1"), template())
    assert [test.name for test in found.tests] == ["rows come"]
    assert found.gaps == (GAP,)


def test_a_dataset_that_cannot_be_asked_is_told() -> None:
    bare = made(dataset(columns=()), of_columns())
    uncut = made(dataset(partition=None), template(schedule="partition"))
    assert [gap.reason for gap in (*bare.gaps, *uncut.gaps)] == [
        "its metadata names no columns, of which the template could select some: declare them",
        "it has no partitions: leave schedule out, or write 'weekly' or a cron line",
    ]
    assert bare.tests == uncut.tests == ()


def test_two_templates_cannot_make_one_name_and_no_name_is_longer_than_a_tests() -> None:
    found = made(table(), of_columns(names=("city",)), template("known: city"))
    assert [test.template for test in found.tests] == ["known"]
    assert [gap.reason for gap in found.gaps] == ["the template 'known' makes a test 'known: city' already: rename one"]
    (long,) = made(table(**{"x" * 290: "int"}), of_columns(name="y" * 20)).gaps
    assert long.reason.endswith("… is longer than 300 characters: shorten the template's")


def test_a_template_has_one_gap_whatever_number_of_columns_it_does_not_fit() -> None:
    found = made(table(), of_columns("off", "wrong({column})"), template("also", "wrong() > {least}"))
    assert [(gap.template, gap.reason) for gap in by_template(found.gaps)] == [
        ("off", "no wrong(trip_id) (and 2 more)"),
        ("also", "no wrong() > 1"),
    ]
    (long,) = by_template([replace(GAP, reason="x" * 900)] * 2)
    assert len(long.reason) == 500
