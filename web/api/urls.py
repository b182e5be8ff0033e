"""The addresses of the REST API."""

from django.urls import URLPattern, URLResolver, path
from rest_framework.routers import SimpleRouter

from .accounts import Audit, Login, Logout, Members, Tokens
from .catalog import BusinessMetrics, Coverage, Datasets
from .columns import Columns
from .data_tests import Backtests, DataTests, Suggestions
from .feeds import EXPORTS, Badge, CalendarFeed
from .gate import Gate, GateOverrides, Publications
from .incidents import Incidents, Silences
from .lineage import Lineage
from .onboarding import OnboardingPreview, Onboardings, Proposals
from .pipelines import Completed, Deploys, PipelineQuality
from .quality import BulkQuality, Quality, QueryQuality
from .reports import Reports
from .runs import Measurements, Quarantines, Runs
from .scores import Scores
from .search import Search
from .templates import Bindings, Templates
from .vital_signs import VitalSigns

router = SimpleRouter(trailing_slash=False)
router.register("datasets", Datasets, basename="api-dataset")
router.register("business-metrics", BusinessMetrics, basename="api-business-metric")
router.register("data-tests", DataTests, basename="api-data-test")
router.register("suggestions", Suggestions, basename="api-suggestion")
router.register("templates", Templates, basename="api-template")
router.register("bindings", Bindings, basename="api-binding")
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
    path("datasets/<path:name>/follow", Datasets.as_view({"put": "follow", "delete": "unfollow"})),
    path("lineage", Lineage.as_view()),
    path("proposals", Proposals.as_view()),
    path("onboarding", Onboardings.as_view()),
    path("onboarding/preview", OnboardingPreview.as_view()),
    path("quality", Quality.as_view()),
    path("quality/query", QueryQuality.as_view()),
    path("quality/bulk", BulkQuality.as_view()),
    path("gate", Gate.as_view()),
    path("pipelines/<str:name>/completed", Completed.as_view()),
    path("pipelines/<str:name>/quality", PipelineQuality.as_view()),
    path("deploys", Deploys.as_view()),
    path("scores", Scores.as_view()),
    path("search", Search.as_view()),
    path("vital-signs", VitalSigns.as_view()),
    path("coverage", Coverage.as_view()),
    path("columns", Columns.as_view()),
    path("backtest", Backtests.as_view()),
    path("badges/<path:name>.svg", Badge.as_view(), name="badge"),
    path("calendar.ics", CalendarFeed.as_view()),
    *(path(f"exports/{name}", view.as_view()) for name, view in EXPORTS.items()),
    *router.urls,
]
