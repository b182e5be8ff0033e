"""The dataset page: what it promises, its tests and its incidents."""

from dataclasses import dataclass

from django.db.models import F, OuterRef, Subquery
from django.utils.translation import gettext

from alerting.models import Standing
from alerting.selectors import complete_up_to, times_to_complete
from alerting.state import TROUBLED
from alerting.verdicts.shown_standing import sentence_of
from assay.catalog.selectors import slas
from assay.models import Dataset, DataTest
from assay.time.durations import format_duration
from assay.time.partition_names import INSTANT
from execution_engine.language.dimension import dimension_of
from execution_engine.language.operands import columns_named
from execution_engine.language.serialise import from_json
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident, Publication
from incident_manager.publishing.services import published
from web.shown.status import RANK, ShownStatus, status_of


@dataclass(frozen=True, kw_only=True)
class ShownTest:
    """A live test and the standing that counts: the newest trouble, else that of the newest window."""

    test: DataTest
    standing: Standing | None
    status: ShownStatus
    sentence: str
    columns: tuple[str, ...] = ()  # of its own dataset that the assertion names
    dimension: str = ""


def published_up_to(dataset: Dataset) -> list[Publication]:
    """The publication of the last partition that each pointer names, by the pointer."""
    last: dict[str, Publication] = {}
    for row in published(dataset).order_by("window_end", "pk"):
        last[row.pointer] = row
    return [last[pointer] for pointer in sorted(last)]


def promises(dataset: Dataset) -> tuple[tuple[str, str], ...]:
    """The SLAs and policies in force, in words."""
    found = slas(dataset)
    is_hard = found.severity == "hard"
    of_rows = (
        (gettext("Completeness"), gettext("at least %(value)s") % {"value": f"{found.completeness:.4g}"}),
        (gettext("Duplicates"), gettext("at most %(value)s") % {"value": f"{found.duplicates:.4g}"}),
        (gettext("Consistency"), gettext("at least %(value)s") % {"value": f"{found.consistency:.4g}"}),
    )
    return (
        (gettext("Freshness"), gettext("complete within %(value)s") % {"value": format_duration(found.freshness)}),
        *(of_rows if dataset.business_metric is None else ()),
        (gettext("Fails after"), format_duration(found.sustain) if found.sustain else gettext("at once")),
        (gettext("Notify after"), format_duration(found.grace) if found.grace else gettext("at once")),
        (gettext("Severity"), gettext("hard: blocks pipelines") if is_hard else gettext("soft: only warns")),
        (gettext("Without a verdict"), gettext("the gate blocks") if found.fail_closed else gettext("the gate allows")),
    )


def progress(dataset: Dataset) -> tuple[tuple[str, str, str], ...]:
    """The last partition up to which it is complete, and how long its last window took, each with a note.

    The note of the first says what the completeness of the last window stands on.
    """
    up_to, at_home = complete_up_to(dataset), dataset.replicas.first()
    newest = times_to_complete(dataset, at_home.datacenter, 1) if at_home else []
    if up_to is None or not newest:
        return ()
    partitioning, took = dataset.partitioning, newest[0]
    text = partitioning.key(partitioning.at(up_to - INSTANT)) if partitioning else f"{up_to:%Y-%m-%d %H:%M} UTC"
    lengths = {"length": took.length, "longest": took.longest}
    length = gettext("%(length)s of %(longest)s") if took.is_known else gettext("not known, filled later")
    return (gettext("Complete through"), text, took.basis), (gettext("Last window took"), length % lengths, "")


def live_tests(dataset: Dataset, veil: Veil) -> list[ShownTest]:
    """The live tests of a dataset, the troubled first, in two statements."""
    own = Standing.objects.filter(data_test=OuterRef("pk")).order_by("-window_start").values("pk")
    annotated = (
        DataTest.objects.filter(dataset=dataset, retired_at=None)
        .select_related("revision")
        .annotate(troubled=Subquery(own.filter(state__in=TROUBLED, waiver=None)[:1]), newest=Subquery(own[:1]))
        .order_by("category", "name")
    )
    tests = list(annotated)
    joined = Standing.objects.select_related("revision", "data_test__dataset")
    standings = joined.in_bulk([pk for test in tests for pk in (test.troubled, test.newest) if pk])
    found = [_live(test, standings.get(test.troubled or test.newest), veil) for test in tests]
    return sorted(found, key=lambda live: RANK[live.status])


def incidents_of(dataset: Dataset, limit: int = 20) -> list[Incident]:
    """The dataset's incidents, open ones first, then the newest."""
    found = Incident.objects.filter(dataset=dataset).select_related("alert__cause__dataset")
    return list(found.order_by(F("resolved_at").desc(nulls_first=True), "-detected_at")[:limit])


def _live(test: DataTest, standing: Standing | None, veil: Veil) -> ShownTest:
    status = status_of(standing.state, standing.waiver_id is not None) if standing else ShownStatus.PENDING
    sentence = sentence_of(standing, veil) if standing else ""
    tree = from_json(test.revision.tree) if test.revision else None
    return ShownTest(
        test=test,
        standing=standing,
        status=status,
        sentence=sentence,
        columns=columns_named(tree) if tree else (),
        dimension=dimension_of(test.category, tree) if tree else "",
    )
