"""An incident's timeline as it may be shown: what a test said of values stays hidden once these must not be told."""

from assay.models import Revision
from execution_engine.runs.shown_results import HIDDEN, Veil
from incident_manager.models import Entry, Incident

SPOILT = "spoilt"  # the event whose text quotes a sentence, after the test's name, the window and a colon


def shown_timeline(incident: Incident, veil: Veil) -> list[Entry]:
    """Its entries, the oldest first."""
    # the names of the tests of which a revision tells what must not be told now
    tests = incident.spoilt_windows.values("data_test")
    revisions = Revision.objects.filter(data_test__in=tests).select_related("data_test")
    hidden = {revision.data_test.name for revision in revisions if veil.hides(revision, incident.dataset)}
    entries = list(incident.timeline.all())
    for entry in entries:
        if entry.event == SPOILT and any(entry.text.startswith(f"{name} ") for name in hidden):
            entry.text = f"{entry.text.partition(': ')[0]}: {HIDDEN}"
    return entries
