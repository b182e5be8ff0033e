"""The slice of rows behind an incident, as its page and the API show it."""

from collections.abc import Mapping
from typing import Any

from alerting.models import SliceSearch
from alerting.services import explanation_of
from alerting.state import State
from execution_engine.runs.shown_results import Veil
from execution_engine.slices.result import SearchStatus, without_slices

from .models import EntryKind, Incident

MOST_SEARCHES = 20  # of an incident, the newest; the worst window changes seldom
NO_TEST = "Not looked into: a user has reported it, and no test measured what is wrong."
NO_SEARCH = "Not looked into: it is older than the search for slices."


def search_of(incident: Incident) -> SliceSearch | None:
    """The search of its worst window that is bad still; of one that is over, of the worst there was."""
    windows = set(incident.spoilt_windows.filter(data_test__isnull=False).values_list("data_test_id", "window_start"))
    joined = ("standing__revision", "standing__data_test__dataset")
    rows = SliceSearch.objects.select_related(*joined).filter(
        standing__data_test__in={test for test, _ in windows},
        standing__window_start__in={start for _, start in windows},
    )
    searches = [
        row
        for row in rows.order_by("-pk")[:MOST_SEARCHES]
        if (row.standing.data_test_id, row.standing.window_start) in windows
    ]
    return max(searches, key=lambda row: (row.standing.state == State.FAIL, row.standing.excess or 0.0), default=None)


def incident_explanation(incident: Incident, veil: Veil) -> Mapping[str, Any]:
    """What explains the incident, or why that is not known; ``window`` was looked into, at ``read_at``."""
    row = search_of(incident)
    if row is None:
        sentence = NO_TEST if incident.kind == EntryKind.REPORTED else NO_SEARCH
        return {
            **without_slices(SearchStatus.NOT_SEARCHED, sentence),
            "data_test": None,
            "window": None,
            "read_at": None,
        }
    place = {"data_test": row.standing.data_test.name, "window": row.standing.window, "read_at": row.ended_at}
    return explanation_of(row, veil) | place
