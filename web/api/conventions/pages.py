"""How lists are cut."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request


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

    def _demand_whole(self, request: Request, name: str, *, least: int) -> None:
        text = request.query_params.get(name, str(least))
        if not (text.isascii() and text.isdigit() and len(text) < 100 and int(text) >= least):
            raise ValidationError({name: f"must be a whole number, at least {least}"})
