"""The Celery application: messages are hints, the rows are the truth (``assay.queue.flow``)."""

import os
from typing import Any

from celery import Celery, current_task

from assay.queue.flow import STAGES, Stage

from .config import config
from .queue import broker

CONFIG = config()

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")  # by which Celery knows to set Django up
broker.install()
app = Celery("assay", broker=CONFIG.broker_url or "memory://", task_cls="assay.queue.broker:SoundTask")
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
    worker_hijack_root_logger=False,  # the logs are ours (assay.edge.logs)
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": CONFIG.broker_visibility_timeout,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_timeout": 10,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 25,
        "interval_start": 0.2,
        "max_retries": 1,  # of whoever sends: a sweep that finds the broker away says so and comes again
    },
    task_publish_retry_policy={"max_retries": 2, "interval_max": 0.5},
    task_default_queue="assay",
    timezone="UTC",
    imports=[
        "assay.scheduler.sweep",
        "alerting.notices.vigil",
        *sorted({stage.task.rpartition(".")[0] for stage in STAGES}),
    ],
)


def queue_name(stage: Stage, datacenter: str = "") -> str:
    """The queue of a stage's messages; a datacenter's own where the work must be done beside its data."""
    return f"assay.{datacenter}" if stage.by_datacenter and datacenter else "assay"


def hint(stage: Stage, datacenter: str = "", **kwargs: Any) -> None:
    """Send "look now" for a stage. It never expires: a worker whose clock is fast would heed none."""
    if datacenter:
        kwargs["datacenter"] = datacenter
    app.send_task(stage.task, kwargs=kwargs, queue=queue_name(stage, datacenter))


def worker_name() -> str:
    """The node name of the worker that runs the current task; empty outside of workers."""
    return str(current_task.request.hostname or "") if current_task else ""
