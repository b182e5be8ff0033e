"""How OpenAPI describes our own authentication."""

from typing import Any

from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension

from web.access.address_keys import PARAMETER

HOW = (
    "A token is got with name and password, and without another token: by `POST /api/v1/auth/login` one of ten hours "
    "that may do all that its user may, by `POST /api/v1/tokens` one with a name, a life and a few scopes."
)


class TokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]
    """The token, under knox's own scheme."""

    target_class = "web.access.authentication.TokenAuthentication"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The scheme, and how one gets a token."""
        known: dict[str, str] = super().get_security_definition(auto_schema)  # type: ignore[no-untyped-call]
        return known | {"description": f"`Authorization: Token …`. {HOW}"}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The key of a token in an address."""

    target_class = "web.access.address_keys.KeyInAddress"
    name = "addressKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The scheme."""
        said = "The `address_key` of a token, where no header can be sent; it ends with the token."
        return {"type": "apiKey", "in": "query", "name": PARAMETER, "description": said}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The bearer token, as OpenLineage's clients send it."""

    target_class = "web.access.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The scheme."""
        return {"type": "http", "scheme": "bearer", "description": f"The same tokens under another word. {HOW}"}
