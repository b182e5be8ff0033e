"""Users' data tests and their revisions: what is written, what is refused, and where the next window stands."""

from datetime import timedelta
from typing import Any

import pytest

from assay.catalog.selectors import surroundings
from assay.models import Dataset, DataTest, Origin, Revision
from assay.time.windows import Window
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_json
from test_generator.data_tests import catalogued, start, unwritten, write_revisions
from test_generator.definition import DataTestSpec, Definition
from test_generator.services import UnableToWrite, retire, write_data_test
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory, day, revised
from tests.integration.test_generator.written import newest, revisions, row

pytestmark = pytest.mark.django_db

SLA = 6 * HOUR  # freshness of tier 2
TODAY = day("2026-03-10")
FARES = "mean(fare) >= 5"


def written(dataset: Dataset, name: str = "fares", **more: Any) -> DataTest:
    asked: dict[str, Any] = {"assertion": FARES, "author": "grace", "now": NOW, **more}
    return write_data_test(dataset=dataset, name=name, **asked)


def refusal(dataset: Dataset, **more: Any) -> str:
    """What a user is told of a test that is not written, of which nothing is left."""
    count = DataTest.objects.count()
    with pytest.raises(UnableToWrite) as error:
        written(dataset, **more)
    assert DataTest.objects.count() == count
    return str(error.value)


def cursor(test: DataTest) -> tuple[Any, ...]:
    told = row(test)
    return told["next_window_start"], told["next_window_end"], told["next_due_at"]


def standing_at(window: Window) -> tuple[Any, ...]:
    return window.start, window.end, window.end + SLA


def test_a_users_test_is_written_with_all_that_was_asked() -> None:
    dataset = DatasetFactory.create(datacenters=("phx", "sea"))
    asked: dict[str, Any] = {"severity": "soft", "schedule": "0 7 * * *", "sustain": 3 * HOUR, "catch_up": "none"}
    test = written(dataset, category="completeness", **asked)
    assert test.dataset == dataset
    assert row(test) == {
        "name": "fares",
        "category": "completeness",
        "origin": "user",
        "scope": "partition",
        "datacenter": "phx",
        "spoils": "",
        "created_at": NOW,
        "source": "",
        "template": "",
        "missing_since": None,
        "retired_at": None,
        "next_due_at": TODAY.end + 7 * HOUR,
        "next_window_start": TODAY.start,
        "next_window_end": TODAY.end,
        "judges_from": None,
        "skipped_slots": 0,
    }
    assert revisions(test) == [
        {
            "number": 1,
            "assertion": FARES,
            **asked,
            "declared": "",
            "keep_rows": {},
            "created_at": NOW,
            "author": "grace",
            "rejudged_at": NOW,
        }
    ]
    assert newest(test).tree == to_json(parse(FARES))


def test_what_was_not_asked_comes_from_the_dataset_and_else_from_its_tier() -> None:
    own: dict[str, Any] = {"severity": "soft", "sustain": 2 * HOUR, "catch_up": "none"}
    by_tier, by_metadata = DatasetFactory.create(), DatasetFactory.create(**own)
    for dataset, taken in ((by_tier, ("hard", 4 * HOUR, "latest")), (by_metadata, ("soft", 2 * HOUR, "none"))):
        found = newest(written(dataset))
        assert (found.severity, found.sustain, found.catch_up) == taken
        assert (found.data_test.category, found.schedule) == ("custom", "partition")
    at_once = newest(written(by_metadata, name="at once", sustain=timedelta(0), severity="hard", catch_up="all"))
    assert (at_once.severity, at_once.sustain, at_once.catch_up) == ("hard", timedelta(0), "all")


@pytest.mark.parametrize(
    ("column", "schedule", "scope"),
    [
        ("datestr", "partition", "partition"),
        ("datestr", "0 7 * * *", "partition"),
        ("datestr", "weekly", "table"),
        ("", "partition", "table"),
        ("", "weekly", "table"),
    ],
)
def test_a_test_is_of_the_whole_table_where_it_is_weekly_or_there_are_no_partitions(
    column: str, schedule: str, scope: str
) -> None:
    dataset = DatasetFactory.create(partition_column=column, granularity="day" if column else "")
    assert row(written(dataset, schedule=schedule))["scope"] == scope


def test_a_name_is_taken_only_in_its_own_dataset() -> None:
    dataset, other = DatasetFactory.create(name="trips"), DatasetFactory.create()
    written(dataset)
    taken = "raw.trips has a test called 'fares' already: revise it, or take another name"
    assert refusal(dataset) == taken
    assert written(other).dataset == other
    assert written(dataset, name="other").dataset == dataset


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"category": "fares"},
            "no category 'fares': take one of freshness, completeness, duplicates, consistency, schema, column, ",
        ),
        ({"severity": "harsh"}, "no severity 'harsh': take hard or soft"),
        ({"schedule": "often"}, "'often' is no schedule"),
        ({"assertion": "mean(fare) >="}, "found the end"),
        ({"assertion": "mean(tip) >= 5"}, "raw.trips has no column tip: take one of datestr, fare, id"),
        ({"assertion": "mean(fare, dataset='raw.none') >= 5"}, "there is no dataset 'raw.none'"),
        ({"assertion": "mean(tip, dataset='RAW.hourly') >= 5"}, "raw.hourly has no column tip"),
        ({"assertion": "row_count(datacenter='phx') >= 5"}, "raw.trips has no replica in 'phx': take one of sea"),
        ({"assertion": "schema_drift(of='some') = 0"}, "of= is one of all, keys, others, not some"),
        ({"assertion": "schema_drift() = 0 by id"}, "schema_drift cannot be measured by group"),
        (
            {"assertion": "row_count() = row_count(dataset='raw.whole')"},
            "partitions do not align: those of raw.whole do not tile those of raw.trips",
        ),
        (
            {"assertion": "row_count() = row_count(dataset='raw.hidden')"},
            "raw.hidden is shown to its readers only (team:hr), and raw.trips to others too: "
            "limit the readers of raw.trips likewise, or ask ada",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_evaluated_is_refused_and_nothing_of_it_is_kept(wrong: dict[str, Any], told: str) -> None:
    dataset = DatasetFactory.create(name="trips")
    DatasetFactory.create(name="hourly", granularity="hour")
    DatasetFactory.create(name="whole", partition_column="", granularity="")
    DatasetFactory.create(name="hidden", readers="team:hr")
    assert told in refusal(dataset, **wrong)


def test_a_mistake_in_an_assertion_is_shown_where_it_stands() -> None:
    lines = refusal(DatasetFactory.create(), assertion="mean(tip) >= 5").splitlines()
    assert "mean(tip) >= 5" in [line.strip() for line in lines]
    assert "^" in lines[-1]


def test_what_fits_the_dataset_and_others_is_written() -> None:
    dataset = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    DatasetFactory.create(name="hourly", granularity="hour")
    upstream = DatasetFactory.create(name="hidden", readers="team:hr")
    LineageEdgeFactory.create(upstream=upstream, downstream=dataset)
    for number, assertion in enumerate(
        (
            "mean(fare) >= mean(fare, dataset='RAW.Hourly')",
            "row_count() = row_count(datacenter='phx')",
            "row_count() >= 1 by id",
            "row_count() = row_count(dataset='raw.hidden')",
        )
    ):
        assert newest(written(dataset, name=f"t{number}", assertion=assertion)).assertion == assertion


def test_a_dataset_is_found_in_whatever_case_it_is_asked_for() -> None:
    DatasetFactory.create(name="other")
    DatasetFactory.create(name="Trips", owner="rita")
    found = catalogued("RAW.trips")
    assert found is not None
    assert (found.full_name, found.owner) == ("raw.Trips", "rita")
    assert catalogued("raw.none") is None


def test_every_field_of_a_new_test_is_what_it_is_created_with() -> None:
    definition = Definition(
        assertion=FARES, severity="soft", schedule="weekly", sustain=HOUR, catch_up="none", declared="told"
    )
    dataset = DatasetFactory.create(datacenters=("sea", "phx"))
    spec = DataTestSpec(
        name="fares", category="consistency", definition=definition, scope="table", datacenter="phx", spoils="sea"
    )
    test = unwritten(dataset, spec, origin=Origin.GENERATED, now=NOW)
    write_revisions([(test, definition)], around=surroundings([dataset]), author="assay", now=NOW)
    told = row(test)
    names = ("name", "category", "origin", "scope", "datacenter", "spoils", "created_at")
    assert [told[name] for name in names] == ["fares", "consistency", "generated", "table", "phx", "sea", NOW]
    assert Definition.of(newest(test)) == Definition(
        assertion=FARES, severity="soft", schedule="weekly", sustain=HOUR, catch_up="none", declared=""
    )
    assert (newest(test).author, newest(test).rejudged_at) == ("assay", NOW)


@pytest.mark.parametrize(
    "changed",
    [
        {"assertion": "mean(fare) >= 6"},
        {"severity": "soft"},
        {"schedule": "0 7 * * *"},
        {"sustain": timedelta(0)},
        {"catch_up": "latest"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_revision_changes_what_is_said_and_keeps_the_rest(changed: dict[str, Any]) -> None:
    beside = DataTestFactory.create()
    test = DataTestFactory.create(dataset=beside.dataset, assertion=FARES)
    (first,) = revisions(test)
    found = revised(test, author="rita", now=NOW, **changed)
    assert found == test
    added = {"number": 2, "created_at": NOW, "author": "rita", "rejudged_at": None}
    assert revisions(test) == [first, {**first, **changed, **added}]
    assert (newest(test).number, newest(test).tree) == (2, to_json(parse(newest(test).assertion)))
    assert len(revisions(beside)) == 1


def test_a_revision_that_changes_nothing_is_none() -> None:
    test = DataTestFactory.create(assertion=FARES)
    before = row(test)
    same: dict[str, Any] = {
        "assertion": FARES,
        "severity": "hard",
        "schedule": "partition",
        "sustain": 4 * HOUR,
        "catch_up": "all",
    }
    assert revised(test, author="rita", now=NOW) == test
    assert revised(test, author="rita", now=NOW, **same) == test
    assert (row(test), Revision.objects.count()) == (before, 1)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"assertion": ""}, "Cannot read the assertion"),
        ({"assertion": "mean(fare) >="}, "found the end"),
        ({"assertion": "mean(tip) >= 5"}, "has no column tip"),
        ({"schedule": "often"}, "'often' is no schedule"),
    ],
)
def test_a_wrong_revision_is_refused_and_the_old_one_stays(wrong: dict[str, Any], told: str) -> None:
    test = DataTestFactory.create(assertion=FARES)
    with pytest.raises(UnableToWrite) as error:
        revised(test, author="rita", now=NOW, **wrong)
    assert told in str(error.value)
    assert newest(test).number == 1


def test_a_test_is_revised_where_the_columns_that_it_holds_data_to_are_declared_otherwise() -> None:
    dataset = DatasetFactory.create()
    test = written(dataset, assertion="schema_drift() = 0")
    assert revised(test, author="rita", now=NOW + DAY).revision == newest(test)
    prints = [newest(test).declared]
    dataset.columns = [{"name": "id", "type": "int"}]
    dataset.save()
    test.refresh_from_db()
    revised(test, author="rita", now=NOW + DAY)
    prints.append(newest(test).declared)
    assert [len(each) for each in prints] == [32, 32]
    assert prints[0] != prints[1]
    assert newest(test).number == 2


def test_a_new_test_waits_for_the_partition_under_way_and_a_revised_one_for_the_one_it_waited_for() -> None:
    test = written(DatasetFactory.create())
    assert cursor(test) == standing_at(TODAY)
    revised(test, severity="soft", author="rita", now=NOW + 3 * DAY)
    assert cursor(test) == standing_at(TODAY)
    revised(test, schedule="0 7 * * *", author="rita", now=NOW + 3 * DAY)
    assert cursor(test) == (*standing_at(day("2026-03-13"))[:2], NOW + 3 * DAY + 19 * HOUR)


def test_a_test_of_columns_judges_no_partition_that_began_before_these_were_declared() -> None:
    from_tomorrow = {"id": TODAY.end.isoformat(), "fare": (TODAY.end + DAY).isoformat()}
    test = written(DatasetFactory.create(declared=from_tomorrow), assertion="schema_drift() = 0")
    assert row(test)["judges_from"] == TODAY.end
    assert cursor(test) == standing_at(day("2026-03-11"))


def test_a_test_that_starts_anew_is_due_again_and_no_other_is() -> None:
    test, other = DataTestFactory.create(), DataTestFactory.create()
    start(test, now=NOW)
    assert cursor(test) == standing_at(TODAY)
    assert cursor(other) == (None, None, None)


def test_a_retired_test_is_due_no_more_and_its_newest_revision_is_judged_anew() -> None:
    dataset = DatasetFactory.create()
    test, other = written(dataset), written(dataset, name="other")
    revised(test, severity="soft", author="rita", now=NOW)
    Revision.objects.update(rejudged_at=NOW)
    stood, others = row(test), (row(other), revisions(other))
    retire(test, now=NOW + HOUR)
    assert row(test) == {**stood, "retired_at": NOW + HOUR, "next_due_at": None}
    assert [revision["rejudged_at"] for revision in revisions(test)] == [NOW, None]
    assert (row(other), revisions(other)) == others
