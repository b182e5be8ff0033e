"""All tables by importance, each with its heartbeat: the page and the API say the same."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from execution_engine.models import BlastRadius, Heartbeat, TableCommit
from tests.factories import DAY, HOUR, NOW, DatasetFactory

pytestmark = pytest.mark.django_db
USUAL = {"value": 950.0, "low": 900.0, "high": 1100.0, "unit": "rows", "per": "commit", "start": NOW.isoformat()}


@pytest.fixture(autouse=True)
def tables() -> None:
    """One that is late and much stands on, one as usual, and one that nobody has looked at."""
    clock.simulate(NOW)
    late, sound, bare = (
        DatasetFactory.create(name="late"),
        DatasetFactory.create(name="sound", owner="eve"),
        DatasetFactory.create(name="bare", primary_key=[], partition_column="", granularity="", tier=5),
    )
    BlastRadius.objects.create(dataset=late, downstreams=3, by_tier=[0] * 6, roots=0, depth=1)
    for dataset, late_at in ((late, NOW - HOUR), (sound, NOW + HOUR)):
        Heartbeat.objects.create(
            dataset=dataset, datacenter="sea", last_commit_at=NOW - DAY, late_at=late_at, volume=USUAL, next_look_at=NOW
        )
        TableCommit.objects.bulk_create(
            TableCommit(dataset=dataset, at=NOW - day * DAY, rows_added=1000 + day) for day in range(9)
        )
    assert bare.pk


def test_the_api_lists_tables_by_importance_with_what_is_missing(api: APIClient) -> None:
    answer = api.get("/api/v1/vital-signs").json()
    assert [(row["dataset"], row["state"], row["missing"]) for row in answer["results"]] == [
        ("raw.late", "late", ["tests"]),
        ("raw.sound", "usual", ["tests"]),
        ("raw.bare", "learning", ["primary key", "partition", "tests"]),
    ]
    late = answer["results"][0]
    assert late["signs"][0].startswith("no commit since 2026-03-09 12:00 UTC")
    assert (late["downstreams"], late["volume"]["value"]) == (3, 950.0)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"unusual": "true"}, ["raw.late"]),
        ({"q": "soun"}, ["raw.sound"]),
        ({"q": "Eve raw"}, ["raw.sound"]),
        ({"sort": "name"}, ["raw.bare", "raw.late", "raw.sound"]),
        ({"limit": "1", "offset": "1"}, ["raw.sound"]),
    ],
)
def test_tables_are_filtered_sorted_and_cut(api: APIClient, query: dict[str, str], names: list[str]) -> None:
    assert [row["dataset"] for row in api.get("/api/v1/vital-signs", query).json()["results"]] == names


def test_a_table_that_is_obsolete_is_neither_late_nor_lacks_anything(api: APIClient, pages: Client) -> None:
    Heartbeat.objects.filter(dataset__name="late").update(obsolete_since=NOW, is_unusual=True)
    (row, *_) = api.get("/api/v1/vital-signs").json()["results"]
    silence = "no commit since 2026-03-09; nothing in use is made of it, and nobody asks for it"
    assert (row["state"], row["signs"], row["notes"], row["missing"]) == ("obsolete", [], [silence], [])
    assert (row["late_at"], row["expected_at"]) == (None, None)
    assert api.get("/api/v1/vital-signs", {"unusual": "true"}).json()["count"] == 0
    text = pages.get("/tables?q=late").content.decode()
    assert ("<strong>obsolete</strong>" in text, "late from" in text, "is made of it" in text) == (True, False, True)


def test_the_page_shows_the_heartbeat_and_what_to_declare_next(pages: Client) -> None:
    text = pages.get("/tables").content.decode()
    assert text.index("raw.<wbr>late") < text.index("raw.<wbr>sound")
    assert "the next one usually comes by 2026-03-10 11:00 UTC" in text
    assert '<a href="/datasets/raw.bare?tab=settings">a primary key, a partition column, tests</a>' in text
    assert text.count("small-chart") == 2
    assert "raw.<wbr>sound" not in pages.get("/tables?signs=unusual").content.decode()
