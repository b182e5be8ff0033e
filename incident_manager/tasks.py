"""The incident manager's stages as Celery tasks."""

from time import sleep

from celery import shared_task
from django.db import connection

from assay.queue.claims import work

from . import retention as pruning
from . import services

MOST_PIECES = 30  # of one task
PAUSE_SECONDS = 0.2


@shared_task(name="incident_manager.tasks.handle", ignore_result=True)
def handle(**_: object) -> int:
    """Open, heal and resolve by the flips of standings."""
    return work("handle", services.handle_flip)


@shared_task(name="incident_manager.tasks.check", ignore_result=True)
def check(**_: object) -> int:
    """Run windows in trouble again."""
    return work("check", services.check_standing)


@shared_task(name="incident_manager.tasks.follow", ignore_result=True)
def follow(**_: object) -> int:
    """Run what reads changed data again."""
    return work("follow", services.follow_change)


@shared_task(name="incident_manager.tasks.rejudge", ignore_result=True)
def rejudge(**_: object) -> int:
    """Judge windows in trouble by new revisions, and withdraw what retired tests had found."""
    return work("rejudge", services.rejudge_revision)


@shared_task(name="incident_manager.tasks.end", ignore_result=True)
def end(**_: object) -> int:
    """End the next windows of incidents that a user has ended, so few that other stages have their turn.

    A database with one writer at a time lets no other in between two transactions that follow at once: who waits looks
    each tenth of a second whether it is free.
    """
    pieces = 0
    while pieces < MOST_PIECES and work("end", services.end_piece, limit=1):
        pieces += 1
        if not connection.features.has_select_for_update:
            sleep(PAUSE_SECONDS)
    return pieces


@shared_task(name="incident_manager.tasks.remind", ignore_result=True)
def remind(**_: object) -> int:
    """Take the next step of reports that nobody has answered."""
    return work("remind", services.remind_report)


@shared_task(name="incident_manager.tasks.digest", ignore_result=True)
def digest(**_: object) -> int:
    """Tell teams of their week."""
    return work("digest", services.tell_digests)


@shared_task(name="incident_manager.tasks.signs", ignore_result=True)
def signs(**_: object) -> int:
    """Mark obsolete tables, and tell owners of vital signs of tables that are read much."""
    return work("signs", services.tell_signs)


@shared_task(name="incident_manager.tasks.accept", ignore_result=True)
def accept(**_: object) -> int:
    """Accept what is proposed for datasets of the tiers for which the operator says so."""
    from incident_manager.proposed_values.services import (
        accept_by_policy,  # with it numpy, for which no gate should wait
    )

    return work("accept", accept_by_policy)


@shared_task(name="incident_manager.tasks.prune", ignore_result=True)
def prune(**_: object) -> int:
    """Remove rows that have had their time."""
    return pruning.prune()
