"""The crawler over a small company, and what it must not let pass."""

import pytest

from assay import clock
from assay.models import DataChange, Dataset
from test_generator.models import PastReading
from tests.crawler.crawl import ASKED, crawl
from tests.crawler.pages import read_page
from tests.factories import (
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
    NoticeFactory,
    OfferFactory,
    ReportFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
)


@pytest.fixture
def company(db: None) -> Dataset:
    """Tables of all kinds: judged, broken, in doubt, never run, reported, without tests, with a name to be escaped."""
    clock.simulate(NOW)
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    fares = DatasetFactory.create(name="eu/fares:2@x-y")
    LineageEdgeFactory.create(upstream=trips, downstream=fares)
    DatasetFactory.create(name="alone", partition_column="", granularity="", primary_key=[])
    judged, broken = DataTestFactory.create(dataset=trips), DataTestFactory.create(dataset=fares)
    DataTestFactory.create(
        dataset=trips, name="new", category="freshness", assertion="freshness() < 4h", created_at=NOW
    )
    RunFactory.create(data_test=judged)
    StandingFactory.create(data_test=judged)
    seen = RunFactory.create(data_test=broken, outcome="broken", findings={"lost_keys": ["<b>1</b>"]})
    StandingFactory.create(data_test=broken, state="FAIL", last_outcome="broken", last_run=seen)
    incident = IncidentFactory.create(dataset=fares)
    SpoiltWindowFactory.create(incident=incident, data_test=broken)
    NoticeFactory.create(alert=incident.alert)
    claimed = IncidentFactory.create(dataset=trips, kind="reported", open_key="report-1")
    SpoiltWindowFactory.create(incident=claimed)
    ReportFactory.create(dataset=trips, incident=claimed)
    suspected = DatasetFactory.create(name="suspected")
    hiccup = DataTestFactory.create(dataset=suspected)
    StandingFactory.create(
        data_test=hiccup,
        state="WARN",
        last_outcome="broken",
        last_run=RunFactory.create(data_test=hiccup, outcome="broken"),
    )
    complained = DatasetFactory.create(name="complained")
    StandingFactory.create(data_test=DataTestFactory.create(dataset=complained))
    confirmed = IncidentFactory.create(dataset=complained, kind="reported", open_key="report-2")
    SpoiltWindowFactory.create(incident=confirmed)
    ReportFactory.create(dataset=complained, incident=confirmed, state="confirmed")
    OfferFactory.create(dataset=trips)
    OfferFactory.create(dataset=fares, assertion="""max("a<b>") <= 1""", columns=["a<b>"], held=5)
    OfferFactory.create(dataset=fares, state="rejected", decided_by="ada", decided_at=NOW, reason="<i>")
    OfferFactory.create(dataset=fares, state="accepted", decided_by="ada", decided_at=NOW, data_test=broken)
    PastReading.objects.create(dataset=trips, datacenter="sea", asked_at=NOW)
    PastReading.objects.create(dataset=fares, datacenter="sea", asked_at=NOW, ended_at=NOW, problem="<b>")
    DataChange.objects.create(
        dataset=trips,
        datacenter="sea",
        kind="completed",
        window_start=judged.created_at,
        window_end=NOW,
        pipeline="night ly",
        at=NOW,
    )
    return trips


def test_everything_that_can_be_asked_of_a_company_is_answered(company: Dataset) -> None:
    assert crawl() == []
    assert ASKED["admin"] > 100, ASKED


def test_an_empty_platform_can_be_asked_everything(db: None) -> None:
    clock.simulate(NOW)
    assert crawl() == []


@pytest.mark.parametrize(
    "body",
    ["<p><b>bold</p>", "<ul><li>one</ul></div>", "<a href=/x>one<a href=/y>two</a></a>", "<i id=x></i><b id=x></b>"],
)
def test_a_page_with_a_tag_that_is_not_closed_is_a_mistake(body: str) -> None:
    whole = "<!doctype html><html><head><title>t</title></head><body>{}</body></html>"
    assert read_page(whole.format("<p>fine</p>")).mistakes == ()
    assert read_page(whole.format(body)).mistakes
