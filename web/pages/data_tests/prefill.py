"""What the editor begins with: a suggestion to be adjusted, or the test that a confirmed report missed."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest

from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import profile_of, slas, upstream_edges
from assay.models import Category, Dataset, Severity
from assay.time.durations import format_duration
from incident_manager.models import Report, ReportState, Saw
from test_generator.models import Offer
from test_generator.offers.selectors import offers_of, suggestion_of
from test_generator.suggestions.as_text import free_name

from .form import FIELDS


def begun_with(request: HttpRequest, dataset: Dataset) -> dict[str, str]:
    """The fields of a new test, by the address that led here; empty where it names nothing."""
    asked = request.GET
    if offer := next((row for row in offers_of(dataset) if str(row.pk) == asked.get("suggestion")), None):
        return _of_suggestion(offer)
    if (key := asked.get("report", "")).isdecimal() and len(key) < 10:
        rows = Report.objects.filter(pk=key, dataset=dataset, state=ReportState.CONFIRMED)
        if report := rows.first():
            return _of_report(report, dataset)
    return {name: asked[name] for name in FIELDS if name in asked}


def _of_suggestion(offer: Offer) -> dict[str, str]:
    one = suggestion_of(offer)
    taken = offer.dataset.data_tests.values_list("name", flat=True)
    return {
        "name": free_name(one.name, taken),
        "assertion": one.assertion,
        "category": one.category,
        "severity": Severity.SOFT.value,
        "suggestion": str(offer.pk),
    }


def _of_report(report: Report, dataset: Dataset) -> dict[str, str]:
    category = Saw(report.saw).category
    taken = dataset.data_tests.values_list("name", flat=True)
    return {
        "name": free_name(report.saw, taken),
        "assertion": missing_test(category, dataset),
        "category": category.value,
        "severity": Severity.SOFT.value,
        "report": str(report.pk),
    }


def missing_test(category: Category, dataset: Dataset) -> str:
    """An assertion that would have seen such a fault, to be adjusted; of values, that they are like those before."""
    if dataset.business_metric is not None:
        return "anomaly(value(), last=28) <= 1"
    written = ASSERTIONS.get(category)
    return (written(profile_of(dataset), dataset) if written else "") or "novelty() <= 1"


def _late(own: DatasetProfile, dataset: Dataset) -> str:
    return f"freshness(complete=0.999) < {format_duration(slas(dataset).freshness)}"


def _rows_missing(own: DatasetProfile, dataset: Dataset) -> str:
    upstream = next((edge.upstream for edge in upstream_edges(dataset) if edge.one_to_one), None)
    if upstream is None:
        return "row_count() >= 0.9 * median(row_count(), last=7)"
    quoted = upstream.full_name.replace("'", "''")
    return f"row_count() / row_count(dataset='{quoted}') between 0.999 and 1.001"


def _rows_twice(own: DatasetProfile, dataset: Dataset) -> str:
    key = ", ".join(own.primary_key)
    return f"1 - distinct_count({key}) / row_count() <= 0" if key else ""


def _copies_differ(own: DatasetProfile, dataset: Dataset) -> str:
    others = [replica.datacenter for replica in own.replicas[1:]]
    if not others:
        return ""
    return f"least(row_count(), row_count(datacenter='{others[0]}')) / row_count() >= 0.999"


ASSERTIONS: Mapping[Category, Callable[[DatasetProfile, Dataset], str]] = {
    Category.FRESHNESS: _late,
    Category.COMPLETENESS: _rows_missing,
    Category.DUPLICATES: _rows_twice,
    Category.CONSISTENCY: _copies_differ,
}
