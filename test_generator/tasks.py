"""The tasks of this package's stages."""

from celery import shared_task

from assay.queue.claims import work_together

from . import services


@shared_task(name="test_generator.tasks.pull", ignore_result=True)
def pull(**_: object) -> int:
    """Read the catalog that the settings name."""
    return services.pull_due()


@shared_task(name="test_generator.tasks.reconcile", ignore_result=True)
def reconcile(**_: object) -> int:
    """Reconcile the datasets that changed."""
    return work_together("reconcile", services.reconcile_datasets)


@shared_task(name="test_generator.tasks.suggest", ignore_result=True)
def suggest(datacenter: str | None = None, **_: object) -> int:
    """Read a past that somebody wants suggestions of, in one datacenter or in all."""
    return services.suggest_due(datacenter)
