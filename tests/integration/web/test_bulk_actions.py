"""Several incidents are worked together: each by its own rules, and what was refused is said of each."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from alerting.models import Silence
from assay import clock
from assay.access import Role
from assay.models import AuditEntry
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.factories import (
    DAY,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    SpoiltWindowFactory,
)
from tests.integration.web.people import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def incidents() -> list[Incident]:
    """Two open ones of two datasets, and one that is over."""
    clock.simulate(NOW)
    over = {"resolved_at": NOW, "resolution": "auto", "open_key": None}
    return [IncidentFactory.create(), IncidentFactory.create(), IncidentFactory.create(**over)]


@pytest.fixture
def ann() -> Client:
    return browser("ann", Role.OPERATOR)


def texts(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def act(client: Client, action: str, incidents: list[Incident], **fields: str) -> Any:
    numbers = [incident.pk for incident in incidents]
    return client.post("/incidents/act", {"action": action, "incident": numbers, **fields})


def test_those_that_are_open_are_acknowledged_and_the_others_are_refused_with_the_reason(
    ann: Client, incidents: list[Incident]
) -> None:
    first, second, over = (incident.pk for incident in incidents)
    done, refused = texts(act(ann, "acknowledge", incidents))
    assert done == f"#{first}, #{second}: Acknowledged: you are named as the person who works on it."
    assert refused == f"#{over}: Incident {over} has ended at 2026-03-10 12:00 UTC already."
    named = Incident.objects.order_by("pk").values_list("acknowledged_by", flat=True)
    assert list(named) == ["ann", "ann", ""]
    assert AuditEntry.objects.filter(action="incident.acknowledge", actor="ann").count() == 2


def test_the_bad_windows_of_all_are_run_again(ann: Client, incidents: list[Incident]) -> None:
    for incident in incidents[:2]:
        test = DataTestFactory.create(dataset=incident.dataset)
        SpoiltWindowFactory.create(incident=incident, data_test=test)
    (text,) = texts(act(ann, "rerun", incidents[:2]))
    assert text.endswith("2 runs are on the way.")
    assert Run.objects.filter(reason="manual").count() == 2


def test_each_is_muted_for_a_day_by_its_dataset_and_category(ann: Client, incidents: list[Incident]) -> None:
    act(ann, "mute", incidents)
    rows = Silence.objects.order_by("pk").values_list("dataset", "category", "ends_at", "author")
    assert list(rows) == [(each.dataset_id, each.category, NOW + DAY, "ann") for each in incidents[:2]]


def test_one_root_cause_is_written_down_for_all_and_needs_words(ann: Client, incidents: list[Incident]) -> None:
    answer, chosen = act(ann, "root-cause", incidents), "&".join(f"choose={each.pk}" for each in incidents)
    assert texts(answer) == ["Root cause: Write what the root cause was."]
    assert answer["Location"] == f"/incidents?{chosen}"
    assert act(ann, "root-cause", incidents, query="?page=2")["Location"] == f"/incidents?page=2&{chosen}"
    act(ann, "root-cause", incidents, root_cause="the feed was late")
    assert set(Incident.objects.values_list("root_cause", flat=True)) == {"the feed was late"}


def test_an_owner_acts_on_what_is_theirs_alone(incidents: list[Incident]) -> None:
    own = IncidentFactory.create(dataset=DatasetFactory.create(owner="bob"), owner="bob")
    bob = browser("bob", Role.OWNER)
    done, refused = texts(act(bob, "acknowledge", [incidents[0], own]))
    assert done.startswith(f"#{own.pk}: ")
    assert refused.startswith(f"#{incidents[0].pk}: ")
    assert Incident.objects.exclude(acknowledged_by="").get() == own
    page = bob.get("/incidents").content.decode()
    assert page.count('type="checkbox"') == 1


def test_who_may_not_act_sees_no_check_boxes(incidents: list[Incident]) -> None:
    page = browser("vic").get("/incidents").content.decode()
    assert 'type="checkbox"' not in page
    assert 'id="bulk"' not in page


def test_the_bar_is_on_the_page_where_a_filter_leaves_nothing_yet(ann: Client) -> None:
    assert 'id="bulk"' in ann.get("/incidents?q=nothing").content.decode()


def test_the_filter_is_kept_and_a_number_of_none_is_refused(ann: Client, incidents: list[Incident]) -> None:
    answer = act(ann, "acknowledge", incidents[:1], query="?state=open")
    assert answer["Location"] == "/incidents?state=open"
    answer = ann.post("/incidents/act", {"action": "acknowledge", "incident": [str(10**9)]})
    assert texts(answer)[-1] == "#1000000000: There is no such incident."
    assert texts(ann.post("/incidents/act", {"action": "acknowledge"}))[-1] == "Incident: Choose at least one incident."


def test_all_on_a_page_can_be_chosen_by_a_link(ann: Client, incidents: list[Incident]) -> None:
    assert ann.get("/incidents?choose=all").content.decode().count(" checked>") == 3
    assert ann.get(f"/incidents?choose={incidents[1].pk}").content.decode().count(" checked>") == 1
