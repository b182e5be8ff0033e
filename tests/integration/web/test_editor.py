"""The editor of users' tests: it checks while one types, tries a test on the past, and saves by the API's own rules."""

from collections.abc import Iterator
from html import unescape

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from assay import clock
from assay.catalog.profile import CatalogProfile, CustomProfile
from assay.models import AuditEntry, Dataset, DataTest, Origin, Scope
from execution_engine import storage, tasks
from execution_engine.models import Measurement
from incident_manager import services
from incident_manager.models import Incident, Report
from test_generator.models import Offer
from test_generator.services import UnableToWrite, sync
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory, OfferFactory, RunFactory, day
from tests.fakes import FakeEngine, rows

pytestmark = pytest.mark.django_db
NEW = "/datasets/raw.trips/tests/new"
SCRIPT = {"HX-Request": "true"}
GIVEN = {"name": "enough rows", "assertion": "row_count() >= 90", "severity": "soft", "schedule": "partition"}
BAD_DAY = day("2026-03-05")


@pytest.fixture
def trips(user: User) -> Iterator[Dataset]:
    """A table with thirty days in memory, of which one has few rows."""
    engine = FakeEngine()
    table = DatasetFactory.create(name="trips")
    for number in range(30):
        at = day("2026-02-08").start + number * DAY
        engine.write("/lake/sea/trips", f"{at:%Y-%m-%d}", rows(40 if at == BAD_DAY.start else 101 + number))
    with storage.using(engine):
        yield table


def text_of(pages: Client, address: str, given: dict[str, str], **headers: str) -> str:
    answer = pages.post(address, given, headers=headers or SCRIPT)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def measure(pages: Client) -> str:
    """What is told at once where the past is asked for, which workers read then."""
    page = text_of(pages, f"{NEW}/measure", GIVEN)
    while tasks.plan() + tasks.scan():
        pass
    return page


def test_a_mistake_is_told_with_a_caret_under_its_place(pages: Client, trips: Dataset) -> None:
    said = text_of(pages, f"{NEW}/check", {"assertion": "completeness(far) > 1"})
    assert "raw.trips has no column far: did you mean fare?" in said
    assert (">  completeness(far) > 1\n               ^^^</pre>" in said, "<html" in said) == (True, False)


def test_without_a_script_the_button_answers_with_the_whole_page_and_what_was_typed(
    pages: Client, trips: Dataset
) -> None:
    said = text_of(pages, f"{NEW}/check", GIVEN | {"assertion": "completeness(far) > 1"}, Accept="text/html")
    assert ("<html" in said, "did you mean fare?" in said, 'aria-invalid="true"' in said) == (True, True, True)
    assert 'value="enough rows"' in said


def test_what_was_never_measured_is_read_and_shows_what_would_have_been_raised(pages: Client, trips: Dataset) -> None:
    before = text_of(pages, f"{NEW}/check", GIVEN)
    assert ("30 were never measured" in before, Measurement.objects.count()) == (True, 0)
    asked = measure(pages)
    assert ("0 of 30 are measured" in asked, 'hx-trigger="every 2s"' in asked) == (True, True)
    assert AuditEntry.objects.filter(action="backtest.measure").exists()
    after = text_of(pages, f"{NEW}/check", GIVEN)
    assert ("<b>29</b> held, <b>1</b> broke" in after, "opened <b>1</b> incident " in after) == (True, True)
    shapes = after.count('class="broken"')  # in three sizes
    assert (shapes, "broken: FAIL" in after, "every 2s" in after) == (3, True, False)
    assert (DataTest.objects.exists(), Incident.objects.exists()) == (False, False)


def test_a_longer_sustain_would_have_warned_only(pages: Client, trips: Dataset) -> None:
    measure(pages)
    said = text_of(pages, f"{NEW}/check", GIVEN | {"sustain": "90d"})
    assert ("broken: WARN only" in said, "opened <b>0</b> incidents" in said) == (True, True)


def test_it_is_saved_and_leads_to_its_results(pages: Client, trips: Dataset) -> None:
    answer = pages.post(f"{NEW}/save", GIVEN | {"sustain": "2h", "category": "column"}, follow=True)
    test = DataTest.objects.get(dataset=trips)
    assert answer.redirect_chain[0][0] == f"/datasets/raw.trips?test={test.pk}#plot"
    assert "Saved: enough rows is judged from its next window on" in answer.content.decode()
    assert test.revision is not None
    assert (test.origin, test.category, test.revision.author) == (Origin.USER, "column", "grace")
    assert (test.revision.severity, test.revision.sustain.total_seconds()) == ("soft", 7200)
    assert AuditEntry.objects.get(action="data-test.create").object_id == str(test.pk)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"assertion": "completeness(far) > 1"}, "has no column far"),
        ({"schedule": "now and then"}, "now and then"),
        ({"sustain": "soon"}, "soon"),
        ({"name": "taken"}, "has a test called 'taken' already"),
        ({"name": ""}, "Name: This field is required"),
    ],
)
def test_what_cannot_be_saved_says_why_and_keeps_what_was_typed(
    pages: Client, trips: Dataset, change: dict[str, str], why: str
) -> None:
    DataTestFactory.create(dataset=trips, name="taken")
    given = GIVEN | change
    said = unescape(pages.post(f"{NEW}/save", given, follow=True).content.decode())
    assert (why in said, f">{given['assertion']}</textarea>" in said) == (True, True)
    assert (f'value="{given["name"]}"' in said, DataTest.objects.count()) == (True, 1)


def test_an_expired_session_keeps_what_was_typed(client: Client, user: User, trips: Dataset) -> None:
    login = client.post(f"{NEW}/save", GIVEN)
    assert login.status_code == 401
    sealed = unescape(login.content.decode().split('name="typed" value="')[1].split('"')[0])
    name = {"username": "grace", "password": "hopper", "next": NEW, "typed": sealed}
    said = unescape(client.post("/login", name, follow=True).content.decode())
    assert ("nothing was done" in said, "row_count() >= 90</textarea>" in said) == (True, True)
    assert not DataTest.objects.exists()


def test_a_test_of_tier_0_is_hard_only_once_it_was_tried(pages: Client, trips: Dataset) -> None:
    Dataset.objects.update(tier=0)
    for severity in ("hard", ""):  # tier 0 makes tests hard by itself
        said = unescape(pages.post(f"{NEW}/save", GIVEN | {"severity": severity}, follow=True).content.decode())
        assert "It cannot be hard yet" in said
    assert not DataTest.objects.exists()
    measure(pages)
    pages.post(f"{NEW}/save", GIVEN | {"severity": "hard"})
    assert DataTest.objects.count() == 1


def test_an_edit_is_a_revision_and_another_sustain_alone_is_one_too(pages: Client, trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips, name="rows", assertion="row_count() >= 90")
    address = f"/datasets/raw.trips/tests/{test.pk}/edit"
    assert "row_count() >= 90</textarea>" in unescape(pages.get(address).content.decode())
    pages.post(f"{address}/save", {"assertion": "row_count() >= 90", "severity": "hard", "sustain": "9h"})
    test.refresh_from_db()
    assert test.revision is not None
    assert (test.revision.number, test.revision.sustain.total_seconds(), test.name) == (2, 9 * 3600, "rows")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"origin": "generated"}, "is generated from metadata."),
        ({"template": "all rows"}, "is made by the template 'all rows'."),
        ({"retired_at": NOW}, "was retired."),
    ],
)
def test_what_nobody_edits_by_hand_says_how_it_is_changed(
    pages: Client, trips: Dataset, given: dict[str, object], why: str
) -> None:
    test = DataTestFactory.create(dataset=trips, **given)
    address = f"/datasets/raw.trips/tests/{test.pk}/edit"
    shown = unescape(pages.get(address).content.decode())
    assert (why in shown, "<textarea" in shown) == (True, False)
    said = pages.post(f"{address}/save", GIVEN | {"assertion": "row_count() > 0"}, follow=True).content.decode()
    assert "Not saved" in said
    pages.post(f"{address}/retire")
    test.refresh_from_db()
    assert test.revision is not None
    assert (test.revision.number, test.retired_at) == (1, given.get("retired_at"))


def test_a_retired_test_makes_room_for_the_catalogs_own(pages: Client, trips: Dataset) -> None:
    pages.post(f"{NEW}/save", GIVEN)
    test = DataTest.objects.get()
    shown = unescape(pages.get(f"/datasets/raw.trips/tests/{test.pk}/edit").content.decode())
    told = yaml.safe_load(shown.split('<pre class="wrap card">')[1].split("</pre>")[0])["tests"][0]
    assert told["assertion"] == GIVEN["assertion"]
    custom = CustomProfile(dataset="raw.trips", name=told["name"], assertion=told["assertion"], severity="soft")
    profile = CatalogProfile(custom=(custom,))
    with pytest.raises(UnableToWrite, match="by page or API"):
        sync(profile, source="yaml:tests.yaml", full=False, now=clock.now())
    pages.post(f"/datasets/raw.trips/tests/{test.pk}/edit/retire")
    sync(profile, source="yaml:tests.yaml", full=False, now=clock.now())
    test.refresh_from_db()
    assert (test.source, test.retired_at) == ("yaml:tests.yaml", None)
    page = pages.get(f"/datasets/raw.trips/tests/{test.pk}/edit").content.decode()
    assert "is written in the source yaml:tests.yaml" in page


def test_a_table_without_partitions_has_no_past_and_is_saved_all_the_same(pages: Client, user: User) -> None:
    DatasetFactory.create(name="trips", partition_column="", granularity="")
    assert "has no partitions: a test reads the whole table as it is now" in text_of(pages, f"{NEW}/check", GIVEN)
    pages.post(f"{NEW}/save", GIVEN | {"schedule": "weekly"})
    assert DataTest.objects.get().scope == Scope.TABLE


def test_a_suggestion_that_is_adjusted_counts_as_accepted(pages: Client, trips: Dataset) -> None:
    offer = OfferFactory.create(dataset=trips, assertion="min(fare) >= 3")
    assert "min(fare) >= 3</textarea>" in unescape(pages.get(f"{NEW}?suggestion={offer.pk}").content.decode())
    pages.post(f"{NEW}/save", GIVEN | {"assertion": "min(fare) >= 0", "suggestion": str(offer.pk)})
    offer = Offer.objects.get(pk=offer.pk)
    assert (offer.state, offer.decided_by, offer.data_test) == ("accepted", "grace", DataTest.objects.get())


@pytest.mark.parametrize(
    ("saw", "assertion"),
    [
        ("late", "freshness(complete=0.999) < 6h"),
        ("rows missing", "row_count() / row_count(dataset='raw.source') between 0.999 and 1.001"),
        ("rows twice", "1 - distinct_count(id) / row_count() <= 0"),
        ("copies differ", "novelty() <= 1"),  # of one copy
        ("values wrong", "novelty() <= 1"),
    ],
)
def test_the_test_that_a_confirmed_report_missed_is_offered_and_tied_to_it(
    pages: Client, trips: Dataset, saw: str, assertion: str
) -> None:
    LineageEdgeFactory.create(upstream=DatasetFactory.create(name="source"), downstream=trips)
    row = services.report(dataset=trips, window=BAD_DAY, reporter="bo", description="half", saw=saw, now=NOW)
    services.confirm_report(row, author="ada", now=NOW)
    assert f"{assertion}</textarea>" in unescape(pages.get(f"{NEW}?report={row.pk}").content.decode())
    pages.post(f"{NEW}/save", GIVEN | {"report": str(row.pk)})
    row = Report.objects.get(pk=row.pk)
    assert row.offered == DataTest.objects.get()
    assert row.offered is not None
    assert row.offered.runs.get().window == BAD_DAY


def test_what_may_not_be_told_is_not_drawn(pages: Client, trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips, name="top", assertion="max(fare) <= 500")
    RunFactory.create(data_test=test, window=BAD_DAY, value=471.5, sentence="max(fare) = 471.5, wanted <= 500")
    address = f"/datasets/raw.trips/tests/{test.pk}/edit"
    assert "471.5" in pages.get(address).content.decode()
    Dataset.objects.update(columns=[{"name": "fare", "type": "double", "sensitive": True}])
    said = unescape(pages.get(address).content.decode())
    assert ("sensitive" in said, "it may not be told to you" in said, 'class="series"' in said) == (True, True, False)
    assert "471.5" not in said
