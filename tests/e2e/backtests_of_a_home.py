"""Prints, a line each, what every test of partitions has raised in a home, and what a backtest says it would have.

``python -m tests.e2e.backtests_of_a_home``, with ``ASSAY_HOME``. Of a test that was revised, its first revision counts,
for as long as that was the newest.
"""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import django


def lines() -> Iterator[dict[str, Any]]:
    """Of each test: its name, and incidents as live and as a backtest has them."""
    from assay import clock
    from assay.models import DataTest, Scope
    from incident_manager.services import as_revised, backtest

    now = clock.now()
    tests = DataTest.objects.filter(scope=Scope.PARTITION).select_related("dataset", "revision").order_by("pk")
    for test in tests:
        revised = test.revisions.filter(number=2).first()
        end = revised.created_at if revised else now
        found = backtest(as_revised(test, 1), start=test.created_at, end=end, now=end)
        yield {
            "test": f"{test.dataset.full_name} {test.name}",
            "live": [_shown(one.opened_at, one.resolved_at, one.windows) for one in found.live],
            "backtest": [_shown(one.opened_at, one.resolved_at, one.windows) for one in found.raised.incidents],
            "told_live": [one.told_at is not None for one in found.live],
            "told": [one.told_at is not None for one in found.raised.incidents],
            "held": found.raised.held,
        }


def _shown(opened_at: datetime, resolved_at: datetime | None, windows: Any) -> list[Any]:
    return [str(opened_at), str(resolved_at), [window.text for window in windows]]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    django.setup()
    for line in lines():
        print(json.dumps(line))
