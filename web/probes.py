"""For machines that look after us: is it alive, can it work, and what are its figures."""

from collections.abc import Iterator

from django.db import DatabaseError, connection
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from alerting.models import Notice
from assay import clock
from assay.flow import STAGES
from assay.queue import pending
from execution_engine.models import Run
from incident_manager.models import Incident


def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return JsonResponse({"status": "database does not answer", "error": str(error)}, status=503)
    return JsonResponse({"status": "ok"})


class Figures(Collector):
    """The figures, counted in the database whenever they are read, so that every process tells the same."""

    def collect(self) -> Iterator[Metric]:
        """The metric families."""
        runs = CounterMetricFamily("assay_runs", "Runs with an outcome", labels=["outcome"])
        for outcome, count in Run.objects.exclude(outcome="").values_list("outcome").annotate(Count("pk")):
            runs.add_metric([outcome], count)
        yield runs
        incidents = GaugeMetricFamily("assay_incidents_open", "Open incidents", labels=["category"])
        rows = Incident.objects.filter(resolved_at=None).values_list("category").annotate(Count("pk"))
        for category, count in rows.order_by("category"):
            incidents.add_metric([category], count)
        yield incidents
        yield self._notices()
        queues = GaugeMetricFamily("assay_queue_pending", "Rows that are due in a stage", labels=["stage"])
        now = clock.now()
        for stage in STAGES:
            queues.add_metric([stage.name], pending(stage, now).count())
        yield queues

    def _notices(self) -> Metric:
        family = CounterMetricFamily("assay_notices", "Notices by what became of them", labels=["settled"])
        settled = Notice.objects.filter(settled_at__isnull=False)
        sent = settled.filter(sent_at__isnull=False).count()
        suppressed = settled.exclude(suppressed="").count()
        family.add_metric(["sent"], sent)
        family.add_metric(["suppressed"], suppressed)
        family.add_metric(["dead"], settled.filter(sent_at=None, suppressed="").count())
        return family


REGISTRY = CollectorRegistry(auto_describe=False)
REGISTRY.register(Figures())


def metrics(request: HttpRequest) -> HttpResponse:
    """The figures in Prometheus' text format."""
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
