"""Alerting's stages as Celery tasks."""

from celery import shared_task

from assay.queue.claims import work, work_together

from . import services


@shared_task(name="alerting.tasks.judge", ignore_result=True)
def judge(**_: object) -> int:
    """Judge the runs that have been evaluated."""
    return work_together("judge", services.judge_runs)


@shared_task(name="alerting.tasks.adopt", ignore_result=True)
def adopt(**_: object) -> int:
    """Give due runs that have told nothing their standing."""
    return work("adopt", services.adopt_run)


@shared_task(name="alerting.tasks.age", ignore_result=True)
def age(**_: object) -> int:
    """Judge the standings that time alone changes."""
    return work("age", services.age_standing)


@shared_task(name="alerting.tasks.explain", ignore_result=True)
def explain(datacenter: str | None = None, **_: object) -> int:
    """Look for the slice behind one broken window, in one datacenter or in any."""
    return services.explain_due(datacenter)


@shared_task(name="alerting.tasks.weigh", ignore_result=True)
def weigh(datacenter: str | None = None, **_: object) -> int:
    """Try whether one value would hold without the slices of its cause, in one datacenter or in any."""
    return services.weigh_due(datacenter)


@shared_task(name="alerting.tasks.alert", ignore_result=True)
def alert(**_: object) -> int:
    """Decide about the notices of alerts."""
    return work("alert", services.decide_alert)


@shared_task(name="alerting.tasks.report_gaps", ignore_result=True)
def report_gaps(**_: object) -> int:
    """Tell owners of the tests that their datasets lack."""
    return work("gaps", services.report_gap)


@shared_task(name="alerting.tasks.tell_of_pull", ignore_result=True)
def tell_of_pull(**_: object) -> int:
    """Tell on-call of a catalog that cannot be read."""
    return work("tell_of_pull", services.tell_of_pull)


@shared_task(name="alerting.tasks.send", ignore_result=True)
def send(**_: object) -> int:
    """Send the notices that are due."""
    return services.send_due()


@shared_task(name="alerting.tasks.emit", ignore_result=True)
def emit(**_: object) -> int:
    """Tell the receiver of OpenLineage events of judged runs."""
    return services.emit_due()
