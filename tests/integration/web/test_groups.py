"""Results by groups on the pages: the newest ones of a test, and those of a bad window."""

import re

import pytest
from django.test import Client

from assay.models import Dataset
from execution_engine.outcome import Outcome
from tests.factories import DataTestFactory, IncidentFactory, RunFactory, SpoiltWindowFactory, StandingFactory, day
from web.pages.incident import MOST_IN_FULL

pytestmark = pytest.mark.django_db

SAID = "city = 'Oslo <b>': completeness(fare) = 0.4, wanted >= 0.99"
FINDINGS = {
    "groups": {"held": 30, "broken": 1, "not_judged": 1},
    "worst_groups": [{"group": {"city": "Oslo <b>"}, "value": 0.4, "bound": 0.99, "said": SAID}],
    "groups_that_hold": [{"group": {"city": "Bonn"}, "value": 1.0, "bound": 0.99, "said": "city = 'Bonn': 1"}],
    "groups_not_judged": [{"group": {"city": None}, "said": "city is null: no values"}],
}


def page(pages: Client, address: str) -> str:
    answer = pages.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def rows(text: str) -> list[tuple[bool, bool, bool]]:
    """Of each row of the groups: whether it is called broken, held, not judged."""
    words = ("broken</span>", "held</span>", "not judged</span>")
    table = text[text.index("32 groups: 1 broken, 30 held, 1 not judged. 29 more are not listed.") :]
    found = [tuple(word in row for word in words) for row in table[: table.index("</table>")].split("<tr>")[2:]]
    return [(one[0], one[1], one[2]) for one in found]


def test_the_groups_of_the_newest_result_are_listed_the_broken_ones_first(pages: Client) -> None:
    test = DataTestFactory.create(assertion="completeness(fare) >= 0.99 by city", category="column")
    RunFactory.create(data_test=test, outcome=Outcome.BROKEN.value, findings=FINDINGS)
    text = page(pages, f"/datasets/{test.dataset.full_name}?test={test.pk}")
    assert rows(text) == [(True, False, False), (False, False, True), (False, True, False)]
    assert ("Oslo &lt;b&gt;" in text, "By city, in the newest window" in text) == (True, True)


def test_a_test_without_groups_has_no_such_table(pages: Client) -> None:
    test = DataTestFactory.create()
    RunFactory.create(data_test=test)
    assert "in the newest window" not in page(pages, f"/datasets/{test.dataset.full_name}?test={test.pk}")


def test_groups_of_a_column_that_is_sensitive_now_are_not_shown(pages: Client) -> None:
    test = DataTestFactory.create(assertion="completeness(fare) >= 0.99 by city", category="column")
    RunFactory.create(data_test=test, outcome=Outcome.BROKEN.value, findings=FINDINGS)
    Dataset.objects.update(columns=[{"name": "city", "type": "string", "sensitive": True}])
    assert "Oslo" not in page(pages, f"/datasets/{test.dataset.full_name}?test={test.pk}")


def test_the_groups_of_a_bad_window_are_on_the_page_of_its_incident(pages: Client) -> None:
    test = DataTestFactory.create(assertion="completeness(fare) >= 0.99 by city", category="column")
    run = RunFactory.create(data_test=test, outcome=Outcome.BROKEN.value, findings=FINDINGS)
    StandingFactory.create(data_test=test, state="FAIL", last_run=run)
    incident = IncidentFactory.create(dataset=test.dataset, category="column")
    SpoiltWindowFactory.create(incident=incident, data_test=test)
    assert rows(page(pages, f"/incidents/{incident.pk}"))[0] == (True, False, False)


def test_of_many_bad_windows_the_newest_list_their_groups_and_the_others_lead_to_them(pages: Client) -> None:
    test = DataTestFactory.create(assertion="completeness(fare) >= 0.99 by city", category="column")
    incident = IncidentFactory.create(dataset=test.dataset, category="column")
    for key in ("2026-03-09", "2026-03-08", "2026-03-07", "2026-03-06"):
        of_window = {"data_test": test, "window": day(key)}
        run = RunFactory.create(**of_window, outcome=Outcome.BROKEN.value, findings=FINDINGS)
        StandingFactory.create(**of_window, state="FAIL", last_run=run)
        SpoiltWindowFactory.create(**of_window, incident=incident)
    text = page(pages, f"/incidents/{incident.pk}")
    assert text.count("32 groups: 1 broken") == MOST_IN_FULL == 3
    assert pages.get(re.findall(r'href="(/api/v1/runs/\d+)"', text)[0]).json()["findings"]["groups"]["held"] == 30
