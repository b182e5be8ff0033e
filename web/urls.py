"""Every address of the web application."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

import web.api.openapi  # noqa: F401 - tells the OpenAPI generator of our own authentication
from web.api.base import NotThere
from web.api.problems import bad_request, fault, forbidden, not_found

from . import probes

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("metrics", probes.metrics),
    path("api/schema", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="schema"),
    path("api/v1/", include("web.api.urls")),
    path("", include("web.pages.urls")),
    re_path(r"^api/", NotThere.as_view()),
]

handler400, handler403, handler404, handler500 = bad_request, forbidden, not_found, fault
