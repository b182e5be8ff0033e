"""How many reports wait for whoever asks, for the navigation of every page."""

from collections.abc import Callable

from django.http import HttpRequest

from incident_manager.reports.selectors import waiting_for
from web.access.who import person_of


def waiting(request: HttpRequest) -> dict[str, Callable[[], int]]:
    """``waiting_reports``, asked for where a template shows it."""

    def count() -> int:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return 0
        person = person_of(request)
        return waiting_for(person.name, person.teams).count()

    return {"waiting_reports": count}
