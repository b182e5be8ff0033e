"""The addresses of the pages for people, and the page that explains the API."""

from typing import Any

from django.urls import URLPattern, path, re_path
from django.views.i18n import set_language
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from assay.config import config
from web.access.logins import login, logout
from web.api.problems import KINDS

from . import (
    admin,
    bulk_actions,
    catalogue,
    dataset,
    editor,
    incident,
    incident_chart,
    notices,
    onboarding,
    origins,
    people,
    reports,
    scores,
    search,
    suggestions,
    tables,
    templates,
)


class ApiDocs(SpectacularSwaggerSplitView):
    """GET the page, or with ``?script`` what starts Swagger UI in it; whoever sees the document may read it."""

    permission_classes = (AllowAny,)
    template_name = "web/api_docs.html"

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The page or its script."""
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        answer.data |= {"here": "api", "kinds": sorted(KINDS.items()), "url": config().public_url.rstrip("/")}
        return answer


urlpatterns: list[URLPattern] = [
    path("", catalogue.catalogue_page, name="catalogue"),
    path("first-runs", catalogue.request_first_runs, name="first-runs"),
    path("business-metrics", dataset.business_metrics_page, name="business-metrics"),
    path("business-metrics/<path:name>", dataset.business_metric_page, name="business-metric"),
    path("datasets/<path:name>/report", reports.report, name="report"),
    path("datasets/<path:name>/problem", reports.problem_page, name="problem"),
    path("datasets/<path:name>/follow", people.submit_follow, name="follow"),
    path("datasets/<path:name>/correct", origins.correct_field, name="correct"),
    path("datasets/<path:name>/override", dataset.new_override, name="override-new"),
    re_path(r"^datasets/(?P<name>.+)/overrides/(?P<pk>\d+)/end$", dataset.submit_override_end, name="override-end"),
    path("datasets/<path:name>/tests/<int:pk>/bind", templates.new_binding, name="bind"),
    path("datasets/<path:name>/bindings/<int:pk>/remove", templates.submit_binding_removal, name="unbind"),
    path("datasets/<path:name>/back-fill", dataset.back_fill, name="back-fill"),
    path("datasets/<path:name>/backtest", suggestions.backtest_page, name="backtest"),
    path("datasets/<path:name>/columns", dataset.columns_page, name="columns"),
    path("datasets/<path:name>/suggestions", suggestions.suggestions_page, name="suggestions"),
    path("datasets/<path:name>/suggest", suggestions.suggest, name="suggest"),
    re_path(
        rf"^datasets/(?P<name>.+)/suggestions/(?P<pk>\d+)/(?P<action>{'|'.join(suggestions.DECISIONS)})$",
        suggestions.decide,
        name="decide",
    ),
    path("datasets/<path:name>/tests/new", editor.new_page, name="test-new"),
    path("datasets/<path:name>/tests/<int:pk>/edit", editor.edit_page, name="test-edit"),
    path("datasets/<path:name>/tests/new/check", editor.check, name="test-new-check"),
    path("datasets/<path:name>/tests/new/measure", editor.measure, name="test-new-measure"),
    path("datasets/<path:name>/tests/new/save", editor.save, name="test-new-save"),
    path("datasets/<path:name>/tests/<int:pk>/edit/check", editor.check, name="test-check"),
    path("datasets/<path:name>/tests/<int:pk>/edit/measure", editor.measure, name="test-measure"),
    path("datasets/<path:name>/tests/<int:pk>/edit/save", editor.save, name="test-save"),
    path("datasets/<path:name>/tests/<int:pk>/edit/retire", editor.retire_test, name="test-retire"),
    path("datasets/<path:name>", dataset.dataset_page, name="dataset"),
    path("incidents", incident.incidents_page, name="incidents"),
    path("incidents/act", bulk_actions.act_on_several, name="incidents-act"),
    path("incidents/<int:pk>", incident.incident_page, name="incident"),
    re_path(r"^incidents/(?P<pk>\d+)/chart\.(?P<form>svg|png)$", incident_chart.chart_file, name="incident-chart"),
    re_path(rf"^incidents/(?P<pk>\d+)/(?P<action>{'|'.join(incident.ACTIONS)})$", incident.act, name="incident-action"),
    path("charts/<str:token>.png", incident_chart.sent_chart, name="sent-chart"),
    path("answer/<str:token>", notices.answer_page, name="answer"),
    path("reports", reports.reports_page, name="reports"),
    re_path(rf"^reports/(?P<pk>\d+)/(?P<action>{'|'.join(reports.ACTIONS)})$", reports.decide, name="report-action"),
    path("admin", admin.members_page, name="admin"),
    path("admin/members/<path:name>", admin.submit_member, name="member"),
    path("admin/tokens", admin.tokens_page, name="admin-tokens"),
    path("admin/audit", admin.audit_page, name="admin-audit"),
    path("admin/channels", admin.channels_page, name="admin-channels"),
    path("admin/channels/<str:name>/test", admin.submit_trial, name="channel-test"),
    path("admin/doctor", admin.doctor_page, name="admin-doctor"),
    path("tables", tables.tables_page, name="tables"),
    path("search", search.search_page, name="search"),
    path("me", people.me_page, name="me"),
    path("me/notices", people.submit_notices, name="me-notices"),
    path("tokens/new", people.new_token, name="token-new"),
    path("tokens/<str:token>/end", people.submit_token_end, name="token-end"),
    path("scores", scores.scores_page, name="scores"),
    path("teams/<path:team>", catalogue.team_page, name="team"),
    path("silences", notices.silences_page, name="silences"),
    path("silences/new", notices.new_silence, name="silence-new"),
    path("silences/<int:pk>/end", notices.submit_silence_end, name="silence-end"),
    path("coverage", scores.coverage_page, name="coverage"),
    path("proposals", onboarding.proposals_page, name="proposals"),
    path("proposals/preview", onboarding.preview_onboarding, name="proposal-preview"),
    path("proposals/onboard", onboarding.submit_onboarding, name="proposal-onboard"),
    path("templates", templates.templates_page, name="templates"),
    path("templates/write", templates.template_page, name="template-write"),
    path("templates/preview", templates.preview_template, name="template-preview"),
    path("templates/save", templates.save_template, name="template-save"),
    path("templates/remove", templates.submit_removal, name="template-remove"),
    path("api/docs", ApiDocs.as_view(), name="api-docs"),
    path("language", set_language, name="language"),
    path("login", login, name="login"),
    path("logout", logout, name="logout"),
]
