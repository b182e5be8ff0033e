"""How OpenAPI describes our own authentication."""

from typing import Any

from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]
    """The token, under knox's own scheme."""

    target_class = "web.access.authentication.TokenAuthentication"


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The bearer token, as OpenLineage's clients send it."""

    target_class = "web.api.conventions.base.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The scheme."""
        return {"type": "http", "scheme": "bearer"}
