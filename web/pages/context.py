"""What every page knows without being told by its view."""

from typing import Any

from django.http import HttpRequest

from assay import clock


def replay(request: HttpRequest) -> dict[str, Any]:
    """The simulated now, where what is shown was lived through in a replay and its clock stands still."""
    return {"replay_at": clock.simulated_now() if request.user.is_authenticated else None}
