"""The addresses of the REST API."""

from django.urls import URLPattern, URLResolver, path
from rest_framework.routers import SimpleRouter

from web.api.audit import Audit
from web.api.auth import Login, Logout
from web.api.coverage import Coverage
from web.api.data_tests import DataTests
from web.api.datasets import Datasets
from web.api.gate import Gate
from web.api.incidents import Incidents
from web.api.lineage import Lineage
from web.api.members import Members
from web.api.pipelines import Completed, PipelineQuality
from web.api.quality import Quality, QueryQuality
from web.api.quarantines import Quarantines
from web.api.reports import Reports
from web.api.runs import Measurements, Runs
from web.api.scores import Scores
from web.api.silences import Silences
from web.api.tokens import Tokens

router = SimpleRouter(trailing_slash=False)
router.register("datasets", Datasets, basename="api-dataset")
router.register("data-tests", DataTests, basename="api-data-test")
router.register("runs", Runs, basename="api-run")
router.register("measurements", Measurements, basename="api-measurement")
router.register("incidents", Incidents, basename="api-incident")
router.register("quarantines", Quarantines, basename="api-quarantine")
router.register("reports", Reports, basename="api-report")
router.register("silences", Silences, basename="api-silence")
router.register("tokens", Tokens, basename="api-token")
router.register("members", Members, basename="api-member")
router.register("audit", Audit, basename="api-audit")

urlpatterns: list[URLPattern | URLResolver] = [
    path("auth/login", Login.as_view()),
    path("auth/logout", Logout.as_view()),
    path("lineage", Lineage.as_view()),
    path("quality", Quality.as_view()),
    path("quality/query", QueryQuality.as_view()),
    path("gate", Gate.as_view()),
    path("pipelines/<str:name>/completed", Completed.as_view()),
    path("pipelines/<str:name>/quality", PipelineQuality.as_view()),
    path("scores", Scores.as_view()),
    path("coverage", Coverage.as_view()),
    *router.urls,
]
