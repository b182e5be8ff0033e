"""What all resources share: how bodies are read, who is let in, how lists are cut, and how changes are done."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import isinf
from typing import IO, Any, ClassVar, Never

from django.conf import settings
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import NotFound, ParseError, UnsupportedMediaType, ValidationError
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from assay import clock
from assay.access import Action
from web.access.changes import Change, audited
from web.access.tokens import BearerAuthentication, TokenAuthentication
from web.access.who import MayUse, hidden_datasets, need_of

from .fields import Shape
from .problems import TooLarge

DEEPEST = 64  # levels of a body
UNSOUND = re.compile("[\0\ud800-\udfff]")


class StrictJSONParser(JSONParser):
    """Reads JSON of bounded size and depth, in UTF-8, with no name twice; raises what is answered with 4xx."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        encoding = str((parser_context or {}).get("encoding", "utf-8")).lower()
        if encoding not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(f"application/json; charset={encoding[:40]}")
        text = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(text) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge
        try:
            value = json.loads(text.decode(), parse_constant=_refuse_constant, object_pairs_hook=_object)
        except RecursionError:
            raise ParseError(f"JSON nested more than {DEEPEST} deep.") from None
        except ValueError as error:  # UnicodeDecodeError and too many digits are such too
            raise ParseError(f"JSON parse error - {error}") from None
        level, depth = [value], 0
        while level:
            depth += 1
            if depth > DEEPEST:
                raise ParseError(f"JSON nested more than {DEEPEST} deep.")
            inner: list[Any] = []
            for item in level:
                if isinstance(item, dict):
                    inner += [*item.keys(), *item.values()]
                elif isinstance(item, list):
                    inner += item
                elif isinstance(item, str) and UNSOUND.search(item):
                    raise ParseError("a text holds a NUL or half of a character pair")
                elif isinstance(item, float) and isinf(item):
                    raise ParseError("a number is beyond what a double holds")
            level = inner
        return value


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON value")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; of a name that is there twice, readers differ about which one counts."""
    if len(members := dict(pairs)) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the name {twice[:80]!r} is there twice")
    return members


class Pages(LimitOffsetPagination):
    """At most a thousand rows in one answer; a parameter that is no number is refused like any wrong one."""

    max_limit = 1000

    def get_limit(self, request: Request) -> int | None:
        self._demand_whole(request, "limit", least=1)
        return super().get_limit(request)

    def get_offset(self, request: Request) -> int:
        """How many come before them, no more than databases take."""
        self._demand_whole(request, "offset", least=0)
        return min(super().get_offset(request), 10**9)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            parameter["schema"] |= {"minimum": 1 if parameter["name"] == "limit" else 0, "maximum": 10**18}
        return parameters

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """One page, for the schema: ``count`` is of all pages."""
        text = "the address of that page; null: none"
        link = {"type": ["string", "null"], "format": "uri", "description": text, "example": None}
        count = {"type": "integer", "example": 1}
        properties = {"count": count, "next": link, "previous": link, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}

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
        """Who sends the request."""
        return self.request.user.get_username()

    def read_query(self, shape: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The query's parameters, checked."""
        return self.check(shape, self.request.query_params.dict())

    def read_body(self, shape: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The body, checked."""
        return self.check(shape, self.request.data)

    def check(self, shape: type[BaseSerializer[Any]], data: Any) -> dict[str, Any]:
        """The values of ``data``; raises ValidationError."""
        serializer = shape(data=data, context={"request": self.request})
        serializer.is_valid(raise_exception=True)
        values: dict[str, Any] = serializer.validated_data
        return values


class Rows(Api, ListModelMixin, GenericViewSet[Any]):
    """A resource of rows, which lists those that match its query."""

    kind: ClassVar[str] = ""  # what the audit calls one of them
    nouns: ClassVar[tuple[str, str]] = ("", "")  # what the document calls one and several of them
    query: ClassVar[type[Shape] | None] = None  # its values are filters of the rows
    pagination_class = Pages
    filter_backends = ()
    dataset_path: ClassVar[str] = "dataset"  # from a row to its dataset; empty: it has none

    def get_queryset(self) -> QuerySet[Any]:
        """The rows, without those of datasets that whoever asks may not see."""
        rows = super().get_queryset()
        is_pushed = need_of(self, str(self.request.method)) is Action.PUSH
        hidden = hidden_datasets(self.request) if self.dataset_path and not is_pushed else []
        return rows.exclude(**{f"{self.dataset_path}__in": hidden}) if hidden else rows

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows that match the query of a list."""
        if self.action != "list" or self.query is None:
            return queryset
        return queryset.filter(**self.read_query(self.query))

    @classmethod
    def picture(cls, key: object) -> dict[str, Any] | None:
        """The row of a key as the API shows it, for the audit; None if there is none."""
        if cls.queryset is None or cls.serializer_class is None:
            return None
        row = cls.queryset.all().filter(**{cls.lookup_field: key}).first()
        return None if row is None else dict(cls.serializer_class(row).data)

    def changing(
        self, action: str, key: object = "", details: Mapping[str, Any] | None = None
    ) -> AbstractContextManager[Change]:
        """The transaction of a change to a row, which ends with its entry of the audit."""
        return audited(
            self.request, f"{self.kind}.{action}", kind=self.kind, key=key, look=self.picture, details=details
        )

    def act(self, service: Callable[..., object], **fields: Any) -> Response:
        """Carry out a service on the row of the address, and show it as it is then."""
        row = self.get_object()
        with self.changing(str(self.action), row.pk, fields):
            service(row, **fields, author=self.author, now=clock.now())
        return self.show()

    def show(self, row: Any = None, status: int = 200) -> Response:
        """The answer with one row; without one, that of the address as it is by now."""
        return Response(self.get_serializer(self.get_object() if row is None else row).data, status=status)


class NumberedRows(Rows, RetrieveModelMixin):
    """Rows that are known by their numbers, and shown one by one."""

    lookup_value_regex = r"\d+"


@extend_schema(exclude=True)
class NotThere(Api):
    """Nothing, for whatever method."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Who asks is asked for first, as everywhere; raises NotFound."""
        super().initial(request, *args, **kwargs)
        raise NotFound
