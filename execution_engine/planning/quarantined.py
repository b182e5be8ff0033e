"""What is quarantined, as planning sees it: nobody measures it until its test is revised, or a hand lifts it."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from assay.models import Revision
from assay.time.windows import Window
from execution_engine.models import Measurement, Suspect
from execution_engine.outcome import Failure, Reason
from execution_engine.quarantine.rules import quarantine_failure

from .planner import Want

Place = tuple[int, str, str]  # dataset, datacenter, spec_hash


class Quarantine:
    """The quarantined suspects, read once for as long as one task works; ``id_of``: of a dataset, by its name."""

    def __init__(self, id_of: Callable[[str], int]) -> None:
        self._id_of = id_of

    def failure(self, revision: Revision, wants: Iterable[Want]) -> Failure | None:
        """Why a run of the revision is not to be measured, if it is not; one written since is tried again."""
        if not self._suspects:
            return None
        return next((found for want in wants if (found := self._failure(revision, want))), None)

    def _failure(self, revision: Revision, want: Want) -> Failure | None:
        for suspect in self._suspects.get((self._id_of(want.dataset), want.datacenter, want.spec_hash), ()):
            assert suspect.quarantined_at
            if revision.created_at <= suspect.quarantined_at and self._holds_for(suspect, want.window):
                last = Failure(reason=Reason(suspect.reason), detail=suspect.detail)
                return quarantine_failure(suspect.spec_text, suspect.ends, last)
        return None

    def _holds_for(self, suspect: Suspect, window: Window) -> bool:
        """Whether it is where the poison was found, or nothing says that it is in that window alone."""
        return suspect.window.overlaps(window) or suspect.pk not in self._measured_elsewhere

    @cached_property
    def _suspects(self) -> dict[Place, list[Suspect]]:
        found: dict[Place, list[Suspect]] = defaultdict(list)
        for row in Suspect.objects.filter(quarantined_at__isnull=False):
            found[row.dataset_id, row.datacenter, row.spec_hash].append(row)
        return found

    @cached_property
    def _measured_elsewhere(self) -> set[int]:
        """Those whose metric has given a value over another window since it first ended abnormally."""
        return {
            row.pk
            for rows in self._suspects.values()
            for row in rows
            if Measurement.objects.filter(
                dataset=row.dataset_id,
                datacenter=row.datacenter,
                spec_hash=row.spec_hash,
                measured_at__gt=row.first_at,
                failure_reason="",
            ).exists()
        }
