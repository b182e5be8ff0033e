"""The Celery application: messages are hints, the rows are the truth (``assay.flow``)."""

from typing import Any

from celery import Celery

from assay.config import config
from assay.flow import STAGES, Stage

CONFIG = config()
VISIBILITY_TIMEOUT = CONFIG.broker_visibility_timeout

app = Celery("assay", broker=CONFIG.broker_url or "memory://")
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    event_serializer="json",
    result_serializer="json",
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=False,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_TIMEOUT,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_timeout": 10,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 25,
    },
    task_publish_retry_policy={"max_retries": 2, "interval_max": 0.5},
    task_default_queue="assay",
    timezone="UTC",
    imports=sorted({stage.task.rpartition(".")[0] for stage in STAGES}),
)


def queue_name(stage: Stage, datacenter: str = "") -> str:
    """The queue of a stage's messages; a datacenter's own where the work must be done beside its data."""
    return f"assay.{datacenter}" if stage.by_datacenter and datacenter else "assay"


def hint(stage: Stage, datacenter: str = "", **kwargs: Any) -> None:
    """Send "look now" for a stage."""
    if datacenter:
        kwargs["datacenter"] = datacenter
    app.send_task(stage.task, kwargs=kwargs, queue=queue_name(stage, datacenter))
