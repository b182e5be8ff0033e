"""Changes that people and pipelines ask for: done, and written down, in one transaction."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from rest_framework.request import Request

from assay.accounts import RequestOrigin, record
from assay.time.windows import Window

from .middleware import request_id_of
from .throttles import address_of
from .who import way_of

Picture = Mapping[str, Any]


@dataclass(kw_only=True)
class Change:
    """What is being changed; whoever creates a row says its key here, or else what came of it."""

    key: object = ""
    after: Picture | None = None


@contextmanager
def audited(
    request: Request | HttpRequest,
    action: str,
    *,
    kind: str,
    key: object = "",
    look: Callable[[object], Picture | None] | None = None,
    details: Picture | None = None,
) -> Iterator[Change]:
    """A transaction that ends with the entry of the audit; ``look`` shows the row of a key, if there is one."""
    with transaction.atomic():
        before = look(key) if look and key != "" else None
        change = Change(key=key)
        yield change
        after = look(change.key) if look else change.after
        record(
            origin_of(request),
            action,
            kind=kind,
            key=change.key,
            before=before,
            after=after,
            details=plain(details or {}),
        )


def origin_of(request: Request | HttpRequest) -> RequestOrigin:
    """Who asks, and from where."""
    return RequestOrigin(
        actor=request.user.get_username(),
        via=way_of(request),
        ip=address_of(request),
        request_id=request_id_of(request),
    )


def plain(value: Any) -> Any:
    """What was given, with the name of a row in its place."""
    match value:
        case Mapping():
            return {name: plain(inside) for name, inside in value.items()}
        case list():
            return [plain(inside) for inside in value]
        case Window():
            return value.text
        case Model():
            return str(value)
    return value
