"""Prints, a line each, what every test of partitions has raised in a home, and what a backtest says it would have.

``python -m tests.e2e.backtests_of_a_home``, with ``ASSAY_HOME``. Of a test that was revised, its first revision counts,
for as long as that was the newest.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import django

SHOWN = ("opened_at", "resolved_at", "windows")


def lines() -> Iterator[dict[str, Any]]:
    """Of each test: its name, and incidents as live and as a backtest has them."""
    from assay import clock
    from assay.models import DataTest, Scope
    from execution_engine.runs.shown_results import Veil
    from incident_manager.backtests.services import as_json
    from incident_manager.services import as_revised, backtest

    now = clock.now()
    tests = DataTest.objects.filter(scope=Scope.PARTITION).select_related("dataset", "revision").order_by("pk")
    for test in tests:
        revised = test.revisions.filter(number=2).first()
        end = revised.created_at if revised else now
        found = as_json(backtest(as_revised(test, 1), start=test.created_at, end=end, now=end), Veil(end))
        yield {
            "test": f"{test.dataset.full_name} {test.name}",
            "live": [[one[name] for name in SHOWN] for one in found["live_incidents"]],
            "backtest": [[one[name] for name in SHOWN] for one in found["incidents"]],
            "told_live": [one["told_at"] is not None for one in found["live_incidents"]],
            "told": [one["told_at"] is not None for one in found["incidents"]],
            "held": found["held"],
        }


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    django.setup()
    for line in lines():
        print(json.dumps(line))
