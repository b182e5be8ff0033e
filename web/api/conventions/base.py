"""What all resources share: who is let in, how lists are cut, and how errors are answered."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from assay.access import Action
from web.access.changes import Change, audited
from web.access.tokens import BearerAuthentication, TokenAuthentication
from web.access.who import MayUse, hidden_datasets, need_of

from .strict_json import StrictJSONParser

T = TypeVar("T")


class Pages(LimitOffsetPagination):
    """At most a thousand rows in one answer; a parameter that is no number is refused like any wrong one."""

    max_limit = 1000

    def get_limit(self, request: Request) -> int | None:
        """How many rows."""
        self._demand_whole(request, "limit", least=1)
        return super().get_limit(request)

    def get_offset(self, request: Request) -> int:
        """How many come before them, no more than databases take."""
        self._demand_whole(request, "offset", least=0)
        return min(super().get_offset(request), 10**9)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """The same for the schema."""
        found: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        for parameter in found:
            parameter["schema"] |= {"minimum": 1 if parameter["name"] == "limit" else 0, "maximum": 10**18}
        return found

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """One page, for the schema: ``count`` is of all pages."""
        said = "the address of that page; null: none"
        link = {"type": ["string", "null"], "format": "uri", "description": said, "example": None}
        return {
            "type": "object",
            "required": ["count", "next", "previous", "results"],
            "properties": {
                "count": {"type": "integer", "example": 1},
                "next": link,
                "previous": link,
                "results": schema,
            },
        }

    def _demand_whole(self, request: Request, name: str, *, least: int) -> None:
        text = request.query_params.get(name, str(least))
        if not (text.isascii() and text.isdigit() and len(text) < 100 and int(text) >= least):
            raise ValidationError({name: f"must be a whole number, at least {least}"})


class Api(APIView):
    """A resource for known users."""

    authentication_classes: Sequence[type[BaseAuthentication]] = [
        TokenAuthentication,
        BearerAuthentication,
        SessionAuthentication,
    ]
    permission_classes = (MayUse,)
    parser_classes = (StrictJSONParser,)

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

    kind: ClassVar[str] = ""  # what the audit calls one of them
    pagination_class = Pages
    filter_backends = ()
    dataset_path: ClassVar[str] = "dataset"  # from a row to its dataset; empty: it has none

    def get_queryset(self) -> QuerySet[Any]:
        """The rows, without those of datasets that whoever asks may not see."""
        rows = super().get_queryset()
        is_pushed = need_of(self, str(self.request.method)) is Action.PUSH
        hidden = hidden_datasets(self.request) if self.dataset_path and not is_pushed else []
        return rows.exclude(**{f"{self.dataset_path}__in": hidden}) if hidden else rows

    @classmethod
    def picture(cls, key: object) -> dict[str, Any] | None:
        """The row of a key as the API shows it, for the audit; None if there is none."""
        if cls.queryset is None or cls.serializer_class is None:
            return None
        row = cls.queryset.all().filter(**{cls.lookup_field: key}).first()
        return None if row is None else dict(cls.serializer_class(row).data)

    def changing(
        self, action: str, key: object = "", given: Mapping[str, Any] | None = None
    ) -> AbstractContextManager[Change]:
        """The transaction of a change to a row, which ends with its entry of the audit."""
        return audited(self.request, f"{self.kind}.{action}", kind=self.kind, key=key, look=self.picture, given=given)

    def page_of(self, rows: QuerySet[Any]) -> Response:
        """One page of ``rows``, written with the resource's serializer."""
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


@extend_schema(exclude=True)
class NotThere(Api):
    """Nothing, for whatever method."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Who asks is asked for first, as everywhere; raises NotFound."""
        super().initial(request, *args, **kwargs)
        raise NotFound
