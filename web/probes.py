"""For machines that look after us: is it alive, can it work, and what are its figures."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from assay.scheduler.beat import scheduler
from web.access.tokens import BearerAuthentication, TokenAuthentication

from .metrics import REGISTRY, REGISTRY_WITH_TEAMS


def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, else 503.

    Where there is a scheduler, it says whether that is silent, and is ready all the same: gates and look-ups answer
    without it, and must not be taken away because of it.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        known = scheduler()
    except DatabaseError as error:
        return JsonResponse({"status": "database does not answer", "error": str(error)}, status=503)
    if known is None:
        return JsonResponse({"status": "ok"})
    status = "silent" if known.is_silent else "ok"
    last_sweep_at = known.swept_at.isoformat() if known.swept_at else None
    return JsonResponse({"status": "ok", "scheduler": {"status": status, "last_sweep_at": last_sweep_at}})


def metrics(request: HttpRequest) -> HttpResponse:
    """The figures in Prometheus' text format; the names of teams are for known users alone."""
    registry = REGISTRY_WITH_TEAMS if _is_known(request) else REGISTRY
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _is_known(request: HttpRequest) -> bool:
    """Whether a token says who asks; a wrong one says nothing."""
    if "Authorization" not in request.headers:
        return False
    schemes = (TokenAuthentication(), BearerAuthentication())
    try:
        return any(scheme.authenticate(Request(request)) for scheme in schemes)
    except (AuthenticationFailed, DatabaseError):
        return False
