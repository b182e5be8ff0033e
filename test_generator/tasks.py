"""The task of this package's stage."""

from celery import shared_task

from assay.queue import work
from test_generator import services


@shared_task(name="test_generator.tasks.reconcile", ignore_result=True)
def reconcile(**_: object) -> int:
    """Reconcile the datasets that changed."""
    return work("reconcile", services.reconcile_dataset)
