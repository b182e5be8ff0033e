"""Whether a request is let through: the rules are in ``assay.access``, each address's needs in ``needs``."""

from typing import Any

import structlog
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from .needs import need_of
from .who import refused

log = structlog.get_logger(__name__)


class MayUse(IsAuthenticated):
    """Whoever is known and may, by role, token and what the row is to them."""

    message = ""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether they may at all, on some dataset at least."""
        if not super().has_permission(request, view):
            return False
        has_handler = hasattr(view, str(request.method).lower())
        return not has_handler or self._may(request, view)  # without one it is answered with 405

    def has_object_permission(self, request: Request, view: Any, obj: Any) -> bool:
        """Whether they may on this one."""
        return self._may(request, view, obj)

    def _may(self, request: Request, view: Any, row: object = None) -> bool:
        why_not = refused(request, need_of(view, str(request.method)), row)
        if why_not is None:
            return True
        self.message = why_not.text
        actor = request.user.get_username()
        log.warning("refused", actor=actor, method=request.method, path=request.path, why=self.message)
        return False
