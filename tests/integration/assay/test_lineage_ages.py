"""Edges that events have told of end once events of their output come without them, and those of files by the files."""

from datetime import datetime, timedelta

import pytest

from assay.catalog.edge_rows import end_aged_edges
from assay.catalog.events import apply_event
from assay.catalog.openlineage import JobCompletion, LineageEvent
from assay.catalog.profile import CatalogProfile, LineageProfile
from assay.catalog.services import apply_catalog, apply_telling, mark_changed
from assay.catalog.tellings import SourceTelling
from assay.models import Dataset, EdgeTelling, LineageEdge, Source
from tests.factories import DAY, HOUR, NOW, DatasetFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def tables() -> None:
    """Five tables, one of which is made of the others."""
    for name in ("a", "b", "c", "d", "mart"):
        DatasetFactory.create(name=name)


def event(*upstreams: str, at: datetime, is_over: bool = True, downstream: str = "mart") -> None:
    """A job says that it makes a table of these."""
    name = f"raw.{downstream}"
    lineage = tuple(LineageProfile(upstream=f"raw.{upstream}", downstream=name) for upstream in upstreams)
    completed = (JobCompletion(dataset=name, window=None),) if is_over else ()
    apply_event(LineageEvent(job="load", at=at, lineage=lineage, completed=completed), now=at)
    mark_changed(end_aged_edges(), at)


def upstreams(downstream: str = "mart") -> set[str]:
    return set(LineageEdge.objects.filter(downstream__name=downstream).values_list("upstream__name", flat=True))


def days(count: float) -> datetime:
    return NOW + timedelta(days=count)


def test_an_edge_ends_two_weeks_after_events_of_its_output_began_to_come_without_it() -> None:
    event("a", "b", at=NOW)
    for day in range(1, 15):
        event("a", at=days(day))
        assert upstreams() == {"a", "b"}
    Dataset.objects.update(reconcile_at=None)
    event("a", at=days(15))
    assert upstreams() == {"a"}
    assert set(Dataset.objects.filter(reconcile_at=days(15)).values_list("name", flat=True)) == {"mart"}


def test_an_edge_of_a_job_that_runs_seldom_stays_while_it_is_said_again_in_time() -> None:
    event("a", "b", at=NOW)
    for day in range(1, 60):
        event("a", at=days(day))
        if day % 12 == 0:
            event("b", at=days(day) + HOUR)
    assert upstreams() == {"a", "b"}


def test_nothing_ages_while_no_event_of_its_output_comes() -> None:
    event("a", "b", at=NOW)
    event("c", "d", at=days(100), downstream="a")
    event("a", "b", at=days(300))
    assert (upstreams(), upstreams("a")) == ({"a", "b"}, {"c", "d"})
    event("a", at=days(600))  # the first without it: the two weeks begin
    assert upstreams() == {"a", "b"}


def test_an_event_that_does_not_say_what_it_has_written_from_what_ages_nothing() -> None:
    event("a", "b", at=NOW)
    event("a", at=days(1), is_over=False)
    event("a", at=days(20), is_over=False)
    event(at=days(21))
    event(at=days(40))
    assert upstreams() == {"a", "b"}
    assert not EdgeTelling.objects.filter(missed_since__isnull=False).exists()


def test_no_more_than_a_tenth_of_the_edges_of_events_ages_at_once_and_the_longest_missed_first() -> None:
    many = [DatasetFactory.create(name=f"t{number}").name for number in range(28)]
    event("a", *many, at=days(-60))
    for number, name in enumerate(many):
        EdgeTelling.objects.filter(upstream=f"raw.{name}").update(missed_since=NOW - (15 + number) * DAY)
    event("a", at=NOW)  # 29 edges of events: two at once
    assert upstreams() == {"a", *(f"t{number}" for number in range(26))}
    end_aged_edges()
    assert upstreams() == {"a", *(f"t{number}" for number in range(24))}


def test_an_edge_of_a_provider_ends_two_weeks_after_it_began_to_tell_without_it_unless_it_is_away() -> None:
    Source.objects.create(name="dbt", kind="dbt")
    both = tuple(LineageProfile(upstream=f"raw.{name}", downstream="raw.mart") for name in "ab")

    def pull(day: int, *edges: LineageProfile) -> set[str]:
        apply_telling(SourceTelling(lineage=edges), source="dbt", full=True, now=days(day))
        end_aged_edges()
        return upstreams()

    assert pull(0, *both) == pull(1, both[0]) == pull(14, both[0]) == {"a", "b"}
    assert pull(15, *both) == pull(16, both[0]) == {"a", "b"}  # it had come back
    assert pull(30, both[0]) == {"a"}
    pull(31)
    end_aged_edges()  # it is away from now on
    assert upstreams() == {"a"}


@pytest.mark.parametrize(("count", "last"), [(1, set()), (5, set()), (6, {"a", "b", "c", "d", "e", "f"})])
def test_a_provider_that_tells_of_no_edge_any_more_loses_a_few_in_time_and_many_only_if_somebody_says_so(
    count: int, last: set[str]
) -> None:
    Source.objects.create(name="dbt", kind="dbt")
    DatasetFactory.create(name="e"), DatasetFactory.create(name="f")
    edges = tuple(LineageProfile(upstream=f"raw.{name}", downstream="raw.mart") for name in "abcdef"[:count])
    apply_telling(SourceTelling(lineage=edges), source="dbt", full=True, now=NOW)
    for day in (1, 14):
        apply_telling(SourceTelling(), source="dbt", full=True, now=days(day))
        end_aged_edges()
    assert len(upstreams()) == count
    apply_telling(SourceTelling(), source="dbt", full=True, now=days(15))
    for left in range(count, 0, -1):  # one a day
        assert len(upstreams()) == max(left, len(last))
        end_aged_edges()
    assert upstreams() == last
    apply_telling(SourceTelling(), source="dbt", full=True, allow_removal=True, now=days(16))
    assert upstreams() == set()


def test_edges_of_files_do_not_age_and_what_files_also_say_is_ended_by_them() -> None:
    event("a", "b", at=NOW)
    said = (LineageProfile(upstream="raw.b", downstream="raw.mart"),)
    apply_catalog(CatalogProfile(lineage=said), source="ours", full=False, now=NOW)
    for day in (1, 20):
        event("a", at=days(day))
    assert (upstreams(), EdgeTelling.objects.filter(upstream="raw.b").count()) == ({"a", "b"}, 1)
    Dataset.objects.update(source="theirs")
    apply_catalog(CatalogProfile(), source="ours", full=True, now=days(21))
    assert upstreams() == {"a"}
