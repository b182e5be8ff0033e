"""The page that explains the API: tokens and problems by a template, the operations by Swagger UI from the document."""

from typing import Any

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from assay.config import config
from web.api.conventions.problems import KINDS


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
