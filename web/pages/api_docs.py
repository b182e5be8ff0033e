"""The page that explains the API, made of its own document; whoever sees the document may read it."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.config import config
from web.access.throttles import costs
from web.api.conventions.document import document
from web.api.conventions.problems import KINDS
from web.shown.operations import operations_by_tag


@require_safe
@costs("read")
def api_docs_page(request: HttpRequest) -> HttpResponse:
    """How to get a token, each operation by tag, and each kind of problem."""
    return render(request, "web/api_docs.html", {"here": "api", "kinds": sorted(KINDS.items()), **_shown()})


@cache
def _shown() -> dict[str, Any]:
    url = config().public_url.rstrip("/")
    return {"url": url, "tags": operations_by_tag(document(), url)}
