"""The slice of rows behind an incident, as its page shows it: with plots, and links that make it a test."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from assay.charts.ticks import Unit, value_text
from assay.models import Category
from execution_engine.runs.shown_results import Veil
from incident_manager.explanations import incident_explanation
from incident_manager.models import Incident
from web.rendering.charts import small_chart

WHOLE_FROM = 100
LONGEST_NAME = 80  # of a test that is offered


def explanation_with_plots(incident: Incident, veil: Veil) -> dict[str, Any]:
    """What the API tells, and of each slice its ``plot`` beside that of the rest, and the address of its test."""
    explanation = dict(incident_explanation(incident, veil))
    return explanation | {
        "slices": [
            row
            | {
                "plot": _line(row["line"], gettext("The slice in the past windows and now")),
                "rest_plot": _line(row["rest_line"], gettext("All other rows")),
                "expected": _whole(row["expected"]),
                "seen": _whole(row["seen"]),
                "share_text": _whole_percent(row["share_of_change"]),
                "test_address": _test_address(incident, row),
            }
            for row in explanation["slices"]
        ]
    }


def _whole(value: float) -> float:
    """Without the fraction of what is no mean or small count."""
    return value if abs(value) < WHOLE_FROM else round(value)


def _whole_percent(share: float | None) -> str:
    return value_text(share and round(share, 2), Unit.SHARE)


def _line(values: list[float], title: str) -> SafeString:
    return small_chart(values, [False] * (len(values) - 1) + [True], title=title)


def _test_address(incident: Incident, row: dict[str, Any]) -> str:
    """The editor with a test of the slice's columns."""
    fields = {
        "assertion": row["assertion"],
        "name": f"by-{'-'.join(row['columns'])}"[:LONGEST_NAME],
        "category": Category.ANOMALY.value,
    }
    return f"{reverse('test-new', args=[incident.dataset.full_name])}?{urlencode(fields)}"
