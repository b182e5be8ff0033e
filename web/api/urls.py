"""The addresses of the REST API."""

from django.urls import URLPattern, URLResolver, path
from rest_framework.routers import SimpleRouter

from web.api.accounts.audit import Audit
from web.api.accounts.auth import Login, Logout
from web.api.accounts.members import Members
from web.api.accounts.tokens import Tokens
from web.api.catalog.backtests import Backtests
from web.api.catalog.business_metrics import BusinessMetrics
from web.api.catalog.columns import Columns
from web.api.catalog.coverage import Coverage
from web.api.catalog.data_tests import DataTests
from web.api.catalog.datasets import Datasets
from web.api.catalog.lineage import Lineage
from web.api.catalog.pipelines import Completed, PipelineQuality
from web.api.catalog.suggestions import Suggestions
from web.api.catalog.templates import Templates
from web.api.consumption.bulk import BulkQuality
from web.api.consumption.gate import Gate
from web.api.consumption.overrides import GateOverrides
from web.api.consumption.publications import Publications
from web.api.consumption.quality import Quality, QueryQuality
from web.api.consumption.scores import Scores
from web.api.feeds.badges import Badge
from web.api.feeds.calendars import CalendarFeed
from web.api.feeds.exports import EXPORTS
from web.api.incidents.incidents import Incidents
from web.api.incidents.quarantines import Quarantines
from web.api.incidents.reports import Reports
from web.api.incidents.runs import Measurements, Runs
from web.api.incidents.silences import Silences

router = SimpleRouter(trailing_slash=False)
router.register("datasets", Datasets, basename="api-dataset")
router.register("business-metrics", BusinessMetrics, basename="api-business-metric")
router.register("data-tests", DataTests, basename="api-data-test")
router.register("suggestions", Suggestions, basename="api-suggestion")
router.register("templates", Templates, basename="api-template")
router.register("runs", Runs, basename="api-run")
router.register("measurements", Measurements, basename="api-measurement")
router.register("incidents", Incidents, basename="api-incident")
router.register("quarantines", Quarantines, basename="api-quarantine")
router.register("reports", Reports, basename="api-report")
router.register("silences", Silences, basename="api-silence")
router.register("gate/overrides", GateOverrides, basename="api-gate-override")
router.register("publications", Publications, basename="api-publication")
router.register("tokens", Tokens, basename="api-token")
router.register("members", Members, basename="api-member")
router.register("audit", Audit, basename="api-audit")

urlpatterns: list[URLPattern | URLResolver] = [
    path("auth/login", Login.as_view()),
    path("auth/logout", Logout.as_view()),
    path("lineage", Lineage.as_view()),
    path("quality", Quality.as_view()),
    path("quality/query", QueryQuality.as_view()),
    path("quality/bulk", BulkQuality.as_view()),
    path("gate", Gate.as_view()),
    path("pipelines/<str:name>/completed", Completed.as_view()),
    path("pipelines/<str:name>/quality", PipelineQuality.as_view()),
    path("scores", Scores.as_view()),
    path("coverage", Coverage.as_view()),
    path("columns", Columns.as_view()),
    path("backtest", Backtests.as_view()),
    path("badges/<path:name>.svg", Badge.as_view(), name="badge"),
    path("calendar.ics", CalendarFeed.as_view()),
    *(path(f"exports/{name}", view.as_view()) for name, view in EXPORTS.items()),
    *router.urls,
]
