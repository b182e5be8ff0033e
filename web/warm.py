"""What the first request would else wait for: a gate that is asked of a process just started answers as fast as any."""

import gc
import sys
from datetime import timedelta

import structlog
from django.db import DatabaseError, connection
from django.template.loader import get_template
from django.urls import get_resolver, reverse

from assay import clock
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.services import look_up
from web.api.gate import GateQuestion

log = structlog.get_logger(__name__)

SLICE = 0.001  # seconds that a thread computes before another may: a short answer gives way at each of its statements
PAGES = (
    "web/login.html",
    "web/catalogue.html",
    "web/dataset.html",
    "web/incident.html",
    "web/incidents.html",
    "web/scores.html",
)


def warm_up() -> None:
    """Import every address and what lies behind it, and ask one question, as a consumer would, that writes nothing.

    A database that does not answer yet keeps nobody from starting: the first request tells of it.
    """
    assert get_resolver().url_patterns
    reverse("catalogue")
    for name in PAGES:
        get_template(name)
    try:
        now = clock.now()
        GateQuestion(data={"datasets": ["none"], "window": f"{now:%Y-%m-%d}"}).is_valid()
        window = Window(start=now - timedelta(days=1), end=now)
        for dataset in Dataset.objects.filter(replicas__isnull=False).prefetch_related("replicas")[:1]:
            look_up(dataset=dataset, window=window, now=now, record=False)
    except DatabaseError as error:
        log.warning("not warmed up", error=str(error))
    finally:
        connection.close()
    sys.setswitchinterval(SLICE)
    gc.collect()
    gc.freeze()  # what was imported stays: to look through it again and again holds up whoever is answered then
