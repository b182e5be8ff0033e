"""One card for each root cause, and the whole chain on each of its incidents."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assay.models import Category, Dataset
from incident_manager.models import Incident
from tests.factories import (
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
    NoticeFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)

pytestmark = pytest.mark.django_db
MONDAY = day("2026-03-09")


@pytest.fixture
def reader(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def chain(user: User) -> list[Incident]:
    """raw.a is late; so are raw.b, which it feeds, and raw.c behind that; written down in another order."""
    a, b, c = (DatasetFactory.create(name=name, owner=name) for name in "abc")
    LineageEdgeFactory.create(upstream=a, downstream=b)
    LineageEdgeFactory.create(upstream=b, downstream=c)
    root, last, middle = (IncidentFactory.create(dataset=each, category=Category.FRESHNESS) for each in (a, c, b))
    for effect in (last, middle):
        assert effect.alert is not None
        effect.alert.cause = root.alert
        effect.alert.save()
    return [root, middle, last]


def late(dataset: Dataset, incident: Incident, hours: float, *, healed: bool = False) -> None:
    """Its test of freshness broke, by so many hours; once healed it holds."""
    test = DataTestFactory.create(
        dataset=dataset, name="freshness", category="freshness", origin="generated", assertion="freshness() < 4h"
    )
    RunFactory.create(
        data_test=test, window=MONDAY, outcome="broken", value=hours * 3600, excess=hours, sentence="late"
    )
    value, state, outcome = (0.0, "PASS", "held") if healed else (hours * 3600, "FAIL", "broken")
    StandingFactory.create(
        data_test=test, window=MONDAY, state=state, last_outcome=outcome, value=value, sentence="freshness is 0"
    )
    SpoiltWindowFactory.create(
        incident=incident,
        data_test=test,
        window=MONDAY,
        healed_at=NOW if healed else None,
        how="auto" if healed else "",
    )


def test_the_catalogue_has_one_card_for_a_chain(reader: Client, chain: list[Incident]) -> None:
    page = reader.get("/").content.decode()
    assert page.count("incident-card") == 1
    assert "affects 2 tables: raw.c, raw.b" in page
    assert "All 3 open incidents" in page


def test_the_card_and_the_page_of_the_dataset_say_who_works_on_it(reader: Client) -> None:
    incident = IncidentFactory.create(dataset=DatasetFactory.create(name="a"), category=Category.FRESHNESS)
    late(incident.dataset, incident, 5)
    pages = ("/", f"/datasets/raw.a?first={MONDAY.start:%Y-%m-%d}&last={MONDAY.start:%Y-%m-%d}")
    for worker, text in (("", "nobody works on it yet"), ("ada", "ada works on it")):
        Incident.objects.update(assigned_to=worker, acknowledged_by=worker, acknowledged_at=NOW if worker else None)
        assert [page for page in pages if text not in reader.get(page).content.decode()] == []


def graph_in(page: str) -> str:
    return page[
        page.index('<section aria-labelledby="cause-title"') : page.index('<section aria-labelledby="spoilt-title"')
    ]


def test_every_member_shows_the_whole_chain_in_the_order_of_the_lineage(reader: Client, chain: list[Incident]) -> None:
    for incident in chain:
        drawn = graph_in(reader.get(f"/incidents/{incident.pk}").content.decode())
        places = [drawn.index(f"raw.<wbr>{name}</span>") for name in "abc"]
        assert places == sorted(places)
        assert drawn.count('title="freshness: this incident') == 1
        assert drawn.count(' class="bad"') == 2  # the lines from the cause to here, and on


def test_the_first_link_of_an_effect_is_its_known_cause(reader: Client, chain: list[Incident]) -> None:
    page = reader.get(f"/incidents/{chain[2].pk}").content.decode()
    head = page[page.index("<h1>") :]
    first = head[head.index('<a href="/incidents') :]
    assert first.startswith(f'<a href="/incidents/{chain[0].pk}">freshness of raw.<wbr>a</a>')
    drawn = graph_in(page)
    assert "freshness: root cause" in drawn
    assert "freshness: muted" in drawn


def test_the_graph_says_which_readers_were_told(reader: Client, user: User) -> None:
    incident = IncidentFactory.create()
    for owner in ("ann", "bob"):
        LineageEdgeFactory.create(upstream=incident.dataset, downstream=DatasetFactory.create(owner=owner))
    NoticeFactory.create(alert=incident.alert, recipient="ann", channel="email")
    drawn = graph_in(reader.get(f"/incidents/{incident.pk}").content.decode())
    assert "ann was told" in drawn
    assert "bob was not told" in drawn


def test_an_incident_of_a_dataset_without_lineage_has_no_graph(reader: Client, user: User) -> None:
    page = reader.get(f"/incidents/{IncidentFactory.create().pk}").content.decode()
    assert 'id="cause-title"' not in page


def test_who_may_not_read_the_cause_sees_what_it_does_to_their_tables(client: Client, chain: list[Incident]) -> None:
    root = chain[0].dataset
    root.readers = "only-eve"
    root.save()
    client.force_login(User.objects.create(username="ada"))
    page = client.get("/").content.decode()
    assert page.count("incident-card") == 2
    assert "raw.b" in page


def test_an_open_incident_leads_with_what_is_wrong_now(reader: Client, chain: list[Incident]) -> None:
    late(chain[0].dataset, chain[0], 12)
    page = reader.get(f"/incidents/{chain[0].pk}").content.decode()
    assert "<h1>2026-03-09 is not complete 12 h after its end. " in page
    assert "2026-03-09 is not complete 12 h after its end." in reader.get("/").content.decode()


def test_a_resolved_incident_leads_with_its_worst_value_and_not_with_the_healed_one(reader: Client, user: User) -> None:
    incident = IncidentFactory.create(category=Category.FRESHNESS, resolved_at=NOW, resolution="auto", open_key=None)
    late(incident.dataset, incident, 9, healed=True)
    page = reader.get(f"/incidents/{incident.pk}").content.decode()
    assert "<h1>2026-03-09 was not complete 9 h after its end. " in page


def test_it_says_what_happens_next(reader: Client, chain: list[Incident]) -> None:
    late(chain[0].dataset, chain[0], 12)
    test = chain[0].dataset.data_tests.get()
    test.standings.update(next_check_at=NOW + timedelta(minutes=40))
    address = f"/incidents/{chain[0].pk}"
    assert 'title="2026-03-10 12:40 UTC">in 40 min</time>' in (page := reader.get(address).content.decode())
    assert "Assay tests it again <time" in page
    assert '<a href="/datasets/raw.b">raw.<wbr>b</a>' in page  # who reads it
    asked = {"data_test": test, "window": MONDAY, "reason": "manual", "requested_at": NOW}
    RunFactory.create(**asked)
    RunFactory.create(**asked, judged_at=None, outcome="")
    page = reader.get(address).content.decode()
    assert "1 of 2 runs done." in page
    assert 'data-live="3"' in page
