"""Addresses below the API that are none: answered in its own shape, too."""

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from web.api.conventions.base import Api


@extend_schema(exclude=True)
class NotThere(Api):
    """Nothing, for whatever method."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Who asks is asked for first, as everywhere; raises NotFound."""
        super().initial(request, *args, **kwargs)
        raise NotFound
