"""Handle the flips of standings: what each does to incidents and their spoilt windows."""

from datetime import datetime

from django.db.models import F

from alerting.models import Flip, Standing
from alerting.state import State, WaiverKind
from assay.database.prepared import rows_of
from assay.models import Scope
from assay.queue.claims import finish
from incident_manager.models import Resolution

from .spoilt import heal, heal_by_standing, move, spoil, spoilt_of

WAIVED_HOW = {WaiverKind.FORCED.value: Resolution.FORCED, WaiverKind.ACCEPTED.value: Resolution.ACCEPTED}
RELATED = ("data_test__dataset", "data_test__revision", "revision", "waiver", "last_run")


def handle_flip(flip: Flip, now: datetime) -> None:
    """Carry out one flip, after those of the same standing that came before it."""
    list(Standing.objects.select_for_update().filter(pk=flip.standing_id).values_list("pk"))
    (standing,) = rows_of(Standing, [flip.standing_id], related=RELATED)
    earlier = Flip.objects.filter(standing=standing, handled_at__isnull=True, pk__lt=flip.pk).order_by("pk")
    for one in (*earlier, flip):
        carry_out(one, standing, now)
    earlier.update(handled_at=now, epoch=F("epoch") + 1)
    finish(flip, handled_at=now)


def carry_out(flip: Flip, standing: Standing, now: datetime) -> None:
    """What one flip does; done twice it does the same."""
    if standing.data_test.retired_at is not None:
        return
    if flip.waived:
        if standing.waiver is not None:
            heal(spoilt_of(standing.data_test, flip.window), WAIVED_HOW[standing.waiver.kind], now=now)
    elif flip.new == State.UNTESTED:
        heal(spoilt_of(standing.data_test, flip.window), Resolution.WITHDRAWN, now=now)
    elif flip.new == State.FAIL:
        spoil(flip, standing, now)
    else:
        heal_by_standing(flip, standing, now)
    if standing.data_test.scope == Scope.TABLE:
        move(standing)
