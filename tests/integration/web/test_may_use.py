"""May I use this? The answer at the top of a dataset's page is the gate's, for a range that one chooses."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay.models import Category, Dataset
from execution_engine.models import Run
from incident_manager.models import Incident
from incident_manager.services import report
from tests.factories import NOW, DatasetFactory, DataTestFactory, RunFactory, SpoiltWindowFactory, StandingFactory, day

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
GOOD, BAD = day("2026-03-08"), day("2026-03-09")


@pytest.fixture
def trips(user: User) -> Dataset:
    """A table whose 9 March is broken, and has an incident."""
    dataset = DatasetFactory.create(name="trips", tier=1, datacenters=("sea", "phx"))
    test = DataTestFactory.create(dataset=dataset, name="rows", category=Category.CUSTOM)
    StandingFactory.create(data_test=test, window=GOOD)
    StandingFactory.create(data_test=test, window=BAD, state="FAIL", last_outcome="broken")
    SpoiltWindowFactory.create(incident__dataset=dataset, data_test=test, window=BAD)
    return dataset


def card(pages: Client, query: str = "", name: str = "raw.trips") -> str:
    answer = pages.get(f"/datasets/{name}?{query}")
    assert answer.status_code == 200
    text = answer.content.decode()
    start = text.index('<section id="use"')
    return text[start : text.index("</section>", start)]


@pytest.mark.parametrize(
    ("query", "word", "decision"),
    [
        ("", "No", "block"),
        ("span=7", "No", "block"),
        ("first=2026-03-08", "Yes", "allow"),
        ("last=2026-03-08", "Yes", "allow"),
        ("first=2026-03-08&last=2026-03-09", "No", "block"),
        ("span=a lot", "No", "block"),
    ],
)
def test_the_answer_is_that_of_the_gate_on_the_chosen_range(
    pages: Client, api: APIClient, trips: Dataset, query: str, word: str, decision: str
) -> None:
    text = card(pages, query)
    assert (f'<section id="use" class="use {decision}"' in text, f"<b>{word}</b>" in text) == (True, True)
    window = "2026-03-08" if "08" in query and "09" not in query else "2026-03-08T00:00:00Z/2026-03-10T00:00:00Z"
    asked = {"datasets": ["raw.trips"], "window": window}
    assert api.post("/api/v1/gate", asked, format="json").json()["decision"] == decision


def test_a_broken_test_and_its_incident_are_told_once_with_a_link(pages: Client, trips: Dataset) -> None:
    text = card(pages)
    assert (text.count('<li class="block">'), "Custom is broken (FAIL)" in text) == (1, True)
    assert "see incident" in text


def test_a_reported_table_may_be_used_with_care(pages: Client, user: User) -> None:
    dataset = DatasetFactory.create(name="trips", tier=4)
    StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset), window=BAD)
    report(dataset=dataset, window=BAD, reporter="eve", description="doubled", now=NOW)
    assert "<b>With care</b>" in card(pages)


@pytest.mark.parametrize("query", ["first=9 March", "first=2026-03-09&last=2026-03-08", "last=<b>", "first=9999-12-31"])
def test_a_range_that_cannot_be_read_is_told_beside_what_was_typed(pages: Client, trips: Dataset, query: str) -> None:
    text = card(pages, query)
    assert ("<b>Which range?</b>" in text, "<b></b>" in text, 'class="reasons"' in text) == (True, False, False)


def test_looking_asks_for_no_run(pages: Client, user: User) -> None:
    DataTestFactory.create(dataset=DatasetFactory.create(name="trips", tier=0))
    text = card(pages)
    assert "<b>Nobody knows yet</b>" in text
    assert not Run.objects.exists()


def test_a_table_without_a_copy_or_without_partitions_has_a_page(pages: Client, user: User) -> None:
    DatasetFactory.create(name="whole", partition_column="", granularity="")
    DatasetFactory.create(name="nowhere").replicas.all().delete()
    assert "May I use this?" in pages.get("/datasets/raw.whole").content.decode()
    assert "May I use this?" not in pages.get("/datasets/raw.nowhere").content.decode()


def test_a_cell_of_the_grid_leads_to_the_results_of_its_day(pages: Client, trips: Dataset) -> None:
    test = trips.data_tests.get()
    RunFactory.create(data_test=test, window=BAD, outcome="broken", sentence="row_count() is 3, wanted at least 100")
    RunFactory.create(data_test=test, window=GOOD, sentence="of another day")
    days = pages.get("/datasets/raw.trips?tab=days&datacenter=phx").content.decode()
    assert 'href="?tab=days&amp;datacenter=phx&amp;day=2026-03-09&amp;category=custom#results"' in days
    shown = pages.get("/datasets/raw.trips?day=2026-03-09&category=custom").content.decode()
    results = shown[shown.index('id="results"') :]
    results = results[: results.index("</section>")]
    assert ("row_count() is 3, wanted at least 100" in results, "of another day" in results) == (True, False)
    other = pages.get("/datasets/raw.trips?day=2026-03-09&category=freshness").content.decode()
    assert "No test has run on it yet." in other
    assert 'id="results"' not in pages.get("/datasets/raw.trips?day=soon").content.decode()


def test_a_healed_fault_keeps_a_mark_in_the_grid(pages: Client, trips: Dataset) -> None:
    standing = StandingFactory.create(data_test=trips.data_tests.get(), window=day("2026-03-05"))
    same = {name: getattr(standing, name) for name in ("data_test", "revision", "window_start", "window_end")}
    standing.flips.create(**same, old="FAIL", new="PASS", at=day("2026-03-06").start)
    page = pages.get("/datasets/raw.trips?tab=days").content.decode()
    grid = page[page.index('<table class="grid">') : page.index("</table>", page.index('<table class="grid">'))]
    assert (grid.count("was-bad"), "custom, 2026-03-05, it was bad before" in grid) == (1, True)


def test_what_nobody_has_judged_yet_is_no_yes(pages: Client, user: User) -> None:
    dataset = DatasetFactory.create(name="trips", tier=4)
    for name in ("rows", "keys", "values", "days"):
        test = DataTestFactory.create(dataset=dataset, name=name, category=Category.CUSTOM, severity="soft")
        StandingFactory.create(data_test=test, window=BAD, state="PENDING", last_outcome="", due_at=NOW + HOUR)
    text = card(pages)
    assert ("<b>Nobody knows yet</b>" in text, 'class="use untested"' in text) == (True, True)
    assert "in sea for 2026-03-09: the first run is at" in text
    assert text.count('<li class="allow">') == 1  # all four say the same
    assert "days, keys, rows and 1 more" in text


def test_why_nobody_knows_does_not_repeat_that_it_is_untested(pages: Client, user: User) -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    StandingFactory.create(data_test=test, window=BAD, state="UNTESTED", last_outcome="")
    assert "in sea for 2026-03-09: The partition ended before the test existed, or is no longer kept." in card(pages)


def test_a_fault_leads_and_that_of_another_datacenter_stands_before_what_is_not_judged(
    pages: Client, trips: Dataset
) -> None:
    for name in ("a", "b"):
        DataTestFactory.create(dataset=trips, name=name, category=Category.CUSTOM)
    away = DataTestFactory.create(dataset=trips, name="copy", category=Category.CONSISTENCY, spoils="phx")
    StandingFactory.create(data_test=away, window=GOOD, state="FAIL", last_outcome="broken")
    text = card(pages, "first=2026-03-08")
    reasons = re.findall(r'<li class="(\w+)">.*?<span>(.*?) <span', text, re.DOTALL)
    assert reasons == [("elsewhere", "Consistency is broken (FAIL)"), ("block", "Not judged yet")]
    assert "2026-03-08, in phx" in text


def test_one_sentence_has_scope_reason_and_change_and_the_api_says_the_same(
    pages: Client, api: APIClient, trips: Dataset
) -> None:
    lost = DataTestFactory.create(
        dataset=trips,
        name="consistency-count:sea>phx",
        category=Category.CONSISTENCY,
        spoils="phx",
        datacenter="sea",
        origin="generated",
    )
    standing = StandingFactory.create(data_test=lost, window=GOOD, state="FAIL", last_outcome="broken", value=0.5)
    spoilt = SpoiltWindowFactory.create(
        incident__dataset=trips, incident__category=Category.CONSISTENCY, data_test=lost, window=GOOD, datacenter="phx"
    )
    wrong = f"50 % of the rows that sea has are missing in phx (#{spoilt.incident_id})"
    query = {"dataset": "raw.trips", "from": GOOD.start.isoformat(), "to": GOOD.end.isoformat(), "datacenter": "phx"}

    def sentences() -> tuple[str, str]:
        text = " ".join(
            re.sub(r"<[^>]+>", "", re.findall(r'class="verdict">(.*?)</p>', card(pages, "first=2026-03-08"))[0]).split()
        )
        return text, api.get("/api/v1/quality", query).json()["sentence"]

    assert sentences() == (f"Yes in sea for 2026-03-08. No in phx: {wrong}.", f"No in phx for 2026-03-08: {wrong}.")
    standing.next_check_at = NOW + HOUR
    standing.save()
    assert sentences()[1] == f"No in phx for 2026-03-08: {wrong}; the next run is at {NOW + HOUR:%Y-%m-%d %H:%M} UTC."
    Incident.objects.filter(pk=spoilt.incident_id).update(eta=NOW + 4 * HOUR)
    back = f"expected back at {NOW + 4 * HOUR:%Y-%m-%d %H:%M} UTC"
    assert sentences() == (
        f"Yes in sea for 2026-03-08. No in phx: {wrong}, {back}.",
        f"No in phx for 2026-03-08: {wrong}, {back}.",
    )


def test_pill_gate_badge_catalogue_and_api_agree_with_the_sentence(
    pages: Client, api: APIClient, trips: Dataset
) -> None:
    number = trips.incidents.get().pk
    quality = api.get("/api/v1/quality", {"dataset": "raw.trips", "from": "2026-03-09", "to": "2026-03-10"}).json()
    why = "The number of rows is 120, wanted at least 100"
    assert (quality["status"], quality["sentence"]) == ("bad", f"No in sea for 2026-03-09: {why} (#{number}).")
    asked = {"datasets": ["raw.trips"], "window": "2026-03-09"}
    assert api.post("/api/v1/gate", asked, format="json").json()["decision"] == "block"
    assert "The number of rows is 120 on 2026-03-09, wanted at least 100." in pages.get("/").content.decode()
    assert "data quality is bad" in api.get("/api/v1/badges/raw.trips.svg").content.decode()
    assert 'class="pill fail"' in pages.get("/datasets/raw.trips").content.decode()


def test_the_answer_and_the_status_say_of_what_they_are(pages: Client, trips: Dataset) -> None:
    page = pages.get("/datasets/raw.trips?first=2026-03-08&datacenter=phx").content.decode()
    assert "<b>Yes</b> <span> in phx, sea for 2026-03-08.</span>" in page
    assert "The status beside the name is that of all partitions in all datacenters." in page


def test_the_gate_says_where_and_how_good_the_data_is(api: APIClient, trips: Dataset) -> None:
    asked = {"datasets": ["raw.trips"], "window": "2026-03-09", "datacenter": "phx"}
    answer = api.post("/api/v1/gate", asked, format="json").json()
    assert (answer["decision"], answer["status"]) == ("block", "bad")
    assert {reason["datacenter"] for reason in answer["reasons"]} == {"phx"}
    unjudged = DatasetFactory.create(name="fares", tier=4).full_name
    answer = api.post("/api/v1/gate", {"datasets": [unjudged], "window": "2026-03-09"}, format="json").json()
    assert (answer["decision"], answer["status"]) == ("allow", "untested")
