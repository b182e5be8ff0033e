"""Which of its dataset's declared columns an assertion holds the data to."""

from dataclasses import replace
from datetime import datetime

from assay.catalog.declared import ALL, Declared, counts_from, in_force, print_of
from assay.catalog.selectors import declared_by
from assay.models import Dataset, DataTest, Scope
from execution_engine.language.operands import operands
from execution_engine.language.parsing.parse import parse
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import Assertion, History
from execution_engine.metrics.definitions.schema_drift import DECLARED, OF, SCHEMA_DRIFT
from test_generator.definition import Definition


def held_to_declared(definition: Definition, dataset: Dataset) -> Definition:
    """The definition with the print of the columns that the dataset declares now; raises UnableToParse."""
    return replace(definition, declared=declared_print(definition.assertion, dataset))


def declared_print(assertion: str, dataset: Dataset) -> str:
    """What changes whenever the columns do that an assertion, which can be parsed, holds data to."""
    return print_of(_columns(parse(assertion), dataset)) if SCHEMA_DRIFT.name in assertion else ""


def judges_from(data_test: DataTest) -> datetime | None:
    """From when on any of its columns is declared as it is; None where that does not limit what a test judges."""
    revision = data_test.revision
    if data_test.dataset.partitioning is None or revision is None or not revision.declared:
        return None
    if data_test.scope == Scope.TABLE:
        return None
    return counts_from(_columns(from_json(revision.tree), data_test.dataset))


def _columns(tree: Assertion, dataset: Dataset) -> tuple[Declared, ...]:
    metrics = [operand.metric if isinstance(operand, History) else operand for operand in operands(tree)]
    own = [metric.spec for metric in metrics if metric.dataset is None and metric.spec.name == SCHEMA_DRIFT.name]
    selections = [str(spec.option(OF, ALL)) for spec in own if spec.option(DECLARED) is None]
    columns = declared_by(dataset) if selections else ()
    return tuple(dict.fromkeys(column for of in selections for column in in_force(columns, of)))
