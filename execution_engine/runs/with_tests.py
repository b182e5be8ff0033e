"""Runs with what they run: their revisions, the tests of these and the datasets of those, in one statement."""

from collections.abc import Sequence

from assay.database.prepared import rows_of
from assay.models import Dataset, DataTest, Revision
from execution_engine.models import Run


def fetch_tests(runs: Sequence[Run]) -> None:
    """Read them for all the runs that have not read theirs; what several runs refer to is one object."""
    unread = [run for run in runs if "revision" not in run._state.fields_cache]
    found = rows_of(Revision, {run.revision_id for run in unread}, related=("data_test__dataset",))
    revisions = {row.pk: row for row in found}
    tests: dict[int, DataTest] = {}
    datasets: dict[int, Dataset] = {}
    for revision in found:
        test = tests.setdefault(revision.data_test_id, revision.data_test)
        test.dataset = datasets.setdefault(test.dataset_id, test.dataset)
        revision.data_test = test
    for run in unread:
        run.revision = revisions[run.revision_id]
        run.data_test = tests[run.data_test_id]
