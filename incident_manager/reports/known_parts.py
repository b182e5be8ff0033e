"""Which part of a user's report is known already, and by which incidents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.time.windows import Window
from incident_manager.intervals import Intervals, clip, subtract


@dataclass(frozen=True, kw_only=True)
class Split:
    """A report's window in parts: those that incidents cover, by incident, and the rest that nobody knew of."""

    covered: Mapping[int, Intervals]
    uncovered: Intervals


def split(report: Window, unhealed: Sequence[tuple[int, Window]]) -> Split:
    """The report split by the unhealed spoilt windows, given as (incident id, window); incidents may share a part."""
    by_incident: dict[int, list[Window]] = {}
    for incident_id, window in unhealed:
        if window.overlaps(report):
            by_incident.setdefault(incident_id, []).append(window)
    covered = {incident_id: clip(windows, report) for incident_id, windows in sorted(by_incident.items())}
    return Split(covered=covered, uncovered=subtract([report], [w for windows in covered.values() for w in windows]))
