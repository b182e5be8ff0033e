"""What all resources share: who is let in, how lists are cut, and how errors are answered."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet
from knox.auth import TokenAuthentication
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from web.api.errors import answer_error
from web.permissions import MayUse

T = TypeVar("T")


class BearerAuthentication(TokenAuthentication):  # type: ignore[misc]
    """The same tokens under the scheme that OpenLineage's clients send."""

    def authenticate_header(self, request: Request) -> str:
        """The scheme."""
        return "Bearer"


class Pages(LimitOffsetPagination):
    """At most a thousand rows an answer."""

    max_limit = 1000

    def get_offset(self, request: Request) -> int:
        """The offset, no larger than databases take."""
        return min(super().get_offset(request), 10**9)


class Api(APIView):
    """A resource for known users."""

    authentication_classes: Sequence[type[BaseAuthentication]] = [
        TokenAuthentication,
        BearerAuthentication,
        SessionAuthentication,
    ]
    permission_classes = (MayUse,)
    parser_classes = (JSONParser,)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Errors in this API's own shape."""
        return answer_error

    @property
    def author(self) -> str:
        """Who asks."""
        return self.request.user.get_username()

    def asked(self, shape: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The query's parameters, checked."""
        return self._checked(shape, self.request.query_params.dict())

    def given(self, shape: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The body, checked."""
        return self._checked(shape, self.request.data)

    def _checked(self, shape: type[BaseSerializer[Any]], data: Any) -> dict[str, Any]:
        serializer = shape(data=data, context={"request": self.request})
        serializer.is_valid(raise_exception=True)
        checked: dict[str, Any] = serializer.validated_data
        return checked


class Rows(Api, GenericViewSet[Any]):
    """A resource of rows."""

    pagination_class = Pages
    filter_backends = ()

    def page_of(self, rows: QuerySet[Any]) -> Response:
        """One page of ``rows``, written with the resource's serializer."""
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)
