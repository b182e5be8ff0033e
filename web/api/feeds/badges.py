"""Badges: the status of a dataset as a picture for pages of others."""

from hashlib import blake2s
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from assay import clock
from assay.database.name_keys import name_key
from assay.models import Dataset
from incident_manager.quality.now import statuses_now
from web.access.tokens import KeyInAddress
from web.api.conventions.base import Api
from web.shown.feeds import badge

SECONDS = 60  # that a picture may be shown without asking again


class Pictures(BaseRenderer):
    """The media type of a badge, which the view has written already."""

    media_type, format = "image/svg+xml", "svg"

    def render(self, data: Any, *_: object, **__: object) -> Any:
        """The picture, unchanged."""
        return data


class Badge(Api):
    """GET a picture of how a dataset stands now."""

    authentication_classes = [*Api.authentication_classes, KeyInAddress]
    renderer_classes = [Pictures]

    @extend_schema(responses={(200, "image/svg+xml"): str})
    def get(self, request: Request, name: str) -> HttpResponseBase:
        """Get the status of a dataset as a picture (SVG).

        The status is the one that look-ups answer, over all copies, as things stand now. The picture may be shown for a
        minute; then `If-None-Match` with its `ETag` asks whether it has changed.
        """
        dataset = get_object_or_404(Dataset, name_key=name_key(name))
        self.check_object_permissions(request, dataset)
        status = statuses_now({dataset.pk: dataset.full_name}, now=clock.now())[dataset.pk]
        picture = badge(dataset.full_name, status).encode()
        etag = f'"{blake2s(picture, digest_size=8).hexdigest()}"'
        headers = {"ETag": etag, "Cache-Control": f"private, max-age={SECONDS}", "Vary": "Authorization, Cookie"}
        whole = HttpResponse(picture, content_type="image/svg+xml", headers=headers)
        return get_conditional_response(request, etag=etag, response=whole) or whole
