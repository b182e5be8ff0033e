"""Make and revoke tokens, for the API and the command alike."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction

from assay.models import AccessToken

from .audit import RequestOrigin, record

KIND = "token"


@transaction.atomic
def make_token(
    user: AbstractBaseUser, *, name: str, scopes: Collection[str], life: timedelta | None, origin: RequestOrigin
) -> tuple[AccessToken, str]:
    """The row and the token itself, which is told only now; without a life it ends when those of logins do."""
    until = {} if life is None else {"expiry": life}
    row, token = AccessToken.objects.create(user, **until, name=name, scopes=sorted(set(scopes)))
    record(origin, "token.create", kind=KIND, key=row.token_key, before=None, after=shown(row))
    return row, token


@transaction.atomic
def revoke_token(row: AccessToken, *, origin: RequestOrigin, action: str = "token.revoke") -> None:
    """End a token."""
    record(origin, action, kind=KIND, key=row.token_key, before=shown(row), after=None)
    row.delete()


def shown(row: AccessToken) -> dict[str, Any]:
    """What everyone who may list a token sees of it: its id is the beginning of the token, the rest is kept nowhere."""
    return {
        "id": row.token_key,
        "user": row.user.get_username(),
        "name": row.name,
        "scopes": row.scopes,
        "created": row.created,
        "expiry": row.expiry,
        "last_used_at": row.last_used_at,
    }
