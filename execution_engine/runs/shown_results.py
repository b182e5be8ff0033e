"""What may be shown of results that are kept: since they were taken, columns may be marked and readers limited."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from assay.catalog.selectors import sensitive_columns
from assay.database.statements import rows_of
from assay.models import Dataset, DataTest, Revision
from execution_engine.disclosure import objection, others_of, redact_detail
from execution_engine.language.business_metric import expression_of, metrics_of
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import Metric, Operand, metric_of, operands
from execution_engine.metrics.definitions.freshness import NAMES as OF_BUSINESS_METRIC
from execution_engine.metrics.definitions.freshness import VALUE
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Run
from execution_engine.outcome import Outcome
from execution_engine.planning.catalog_sources import Sources

HIDDEN = (
    "what it found is not shown: a column that it reads is sensitive now, or another dataset has limited its readers"
)


def objection_to(test_operands: Sequence[Operand], dataset: str, sources: Sources) -> str | None:
    """Why a test of ``dataset`` that asks for ``test_operands`` would tell what it must not; None if it would not."""
    own = sources.privacy(dataset)
    assert own is not None
    objections = (
        objection(own, metric.spec, metric.dataset, sources.privacy)
        for metric in _read(test_operands, dataset, sources)
    )
    return next((why for why in objections if why), None)


class Veil:
    """What is hidden of results by the marks and readers of now; each dataset and revision is looked at once."""

    def __init__(self, now: datetime) -> None:
        self._sources = Sources(now)
        self._hidden: dict[int, bool] = {}  # by revision

    def hides(self, revision: Revision, dataset: Dataset) -> bool:
        """Whether what runs of a revision of a test of ``dataset`` found tells values that must not be told now."""
        if revision.pk not in self._hidden:
            test_operands = operands(from_json(revision.tree))
            read = _read(test_operands, dataset.full_name, self._sources)
            others = any(others_of(metric.spec, metric.dataset) for metric in read)
            is_plain = not others and not sensitive_columns(dataset)
            self._hidden[revision.pk] = not is_plain and bool(
                objection_to(test_operands, dataset.full_name, self._sources)
            )
        return self._hidden[revision.pk]

    def hides_value_of(self, metric: Dataset) -> bool:
        """Whether the value of a business metric is hidden: its sources may have limited their readers since."""
        value = Metric(spec=MetricSpec(name=VALUE.name))
        return objection_to([value], metric.full_name, self._sources) is not None

    def hides_run(self, run: Run) -> bool:
        """Whether a run's sentence and values are hidden; why one gave no verdict may be known."""
        return run.outcome in (Outcome.HELD, Outcome.BROKEN) and self.hides(run.revision, run.data_test.dataset)

    def findings(self, run: Run) -> dict[str, Any]:
        """What a run found beside its value, without what quotes a column that is sensitive now."""
        if self.hides(run.revision, run.data_test.dataset):
            return {}
        findings = dict(run.findings)
        for operand in operands(from_json(run.revision.tree)):
            metric = metric_of(operand)
            if isinstance(finding := findings.get(operand.text), dict):
                dataset = run.data_test.dataset
                if metric.dataset and self._sources(metric.dataset):
                    dataset = self._sources.dataset(metric.dataset)
                findings[operand.text] = redact_detail(metric.spec, sensitive_columns(dataset), finding)
        return findings

    def hides_measurement(self, row: Measurement) -> bool:
        """Whether a measurement's own value is hidden."""
        spec, dataset = row.metric, row.dataset
        if spec.name not in METRICS:  # what no test can ask for, such as the time that a window took to be complete
            return bool(spec.columns or spec.by)
        if spec.name in OF_BUSINESS_METRIC:
            return objection_to([Metric(spec=spec)], dataset.full_name, self._sources) is not None
        if not others_of(spec, None) and not sensitive_columns(dataset):
            return False
        own = self._sources.privacy(dataset.full_name)
        return own is not None and objection(own, spec, None, self._sources.privacy) is not None

    def detail(self, row: Measurement) -> dict[str, Any]:
        """The detail of a measurement whose value may be shown."""
        return redact_detail(row.metric, sensitive_columns(row.dataset), row.detail)


def _read(test_operands: Sequence[Operand], dataset: str, sources: Sources) -> Iterator[Metric]:
    """The metrics of data that a test of ``dataset`` asks for; of a business metric what it is computed from."""
    for metric in map(metric_of, test_operands):
        of = sources(metric.dataset or dataset) if metric.spec.name in OF_BUSINESS_METRIC else None
        yield metric
        if of is not None and of.expression:
            yield from metrics_of(expression_of(of.expression))


# Runs with what they run: their revisions, the tests of these and the datasets of those, in one statement.


def fetch_tests(runs: Sequence[Run]) -> None:
    """Read them for all the runs that have not read theirs; what several runs refer to is one object."""
    unread = [run for run in runs if "revision" not in run._state.fields_cache]
    revision_rows = rows_of(Revision, {run.revision_id for run in unread}, related=("data_test__dataset",))
    revisions = {row.pk: row for row in revision_rows}
    tests: dict[int, DataTest] = {}
    datasets: dict[int, Dataset] = {}
    for revision in revision_rows:
        test = tests.setdefault(revision.data_test_id, revision.data_test)
        test.dataset = datasets.setdefault(test.dataset_id, test.dataset)
        revision.data_test = test
    for run in unread:
        run.revision = revisions[run.revision_id]
        run.data_test = tests[run.data_test_id]
