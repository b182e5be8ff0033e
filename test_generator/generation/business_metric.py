"""The standard tests of a business metric: it is there, in time, within its band, and its break-downs add up (pure)."""

from assay.catalog.profile import BusinessMetricDefinition, DatasetProfile, ServedTable
from assay.time.durations import format_duration
from execution_engine.language.business_metric import expression_of, not_additive, only_where
from execution_engine.language.to_text import number_text, to_text
from execution_engine.language.tree import Arithmetic, Expression, Metric, Operator
from execution_engine.metrics.columns import written
from execution_engine.metrics.definitions.value import VALUE
from execution_engine.metrics.spec import MetricSpec, written_literal
from test_generator.definition import Definition

from .assertions import number
from .wanted import Generation, WantedGap, WantedTest

LONGEST_NAME = 300  # of a test, in characters
LAST = 60  # windows whose values make the band, where the definition names no other number


def business_metric_tests(metric: DatasetProfile) -> Generation:
    """The tests of a business metric whose definition is complete, and the gaps where its expression allows none."""
    definition = metric.business_metric
    assert definition is not None
    band = {"last": LAST, **definition.band}
    options = ", ".join(f"{name}={_literal(value)}" for name, value in band.items())
    wanted = (
        _wanted(metric, "value", "has_value() = 1"),
        _wanted(metric, "freshness", f"sources_freshness() < {format_duration(metric.targets.freshness)}"),
        _wanted(metric, "band", f"anomaly(value(), {options}) <= 1", severity="soft"),  # unusual is not yet wrong
    )
    return Generation(wanted=wanted) + _dimensions(metric, definition)


def _dimensions(metric: DatasetProfile, definition: BusinessMetricDefinition) -> Generation:
    """The parts by a dimension add up to the whole: what has no value of it is lost in a break-down."""
    tree = expression_of(definition.canonical)
    if not definition.dimensions and not definition.served:
        return Generation()
    if (why := not_additive(tree)) is not None:
        names = ", ".join(definition.dimensions)
        reason = f"its parts by {names} do not add up to the whole, so nothing is compared: {why}"
        gap = WantedGap(dataset=metric.full_name, category="metric", reason=reason[:500], mendable=False)
        return Generation(gaps=(gap,))
    parts = {
        f"dimension:{name}": only_where(tree, f"{written(name)} is not null") for name in definition.dimensions
    } | {f"dimension:{each.dimension}@{each.dataset}": _served(each) for each in definition.served}
    low, high = number(1 - definition.tolerance), number(1 + definition.tolerance)
    whole = Metric(spec=MetricSpec(name=VALUE.name))
    tests = [
        _wanted(
            metric,
            name,
            f"{to_text(Arithmetic(operator=Operator.DIVIDE, left=part, right=whole))} between {low} and {high}",
        )
        for name, part in parts.items()
    ]
    return Generation(wanted=tuple(tests))


def _served(table: ServedTable) -> Expression:
    column, where = written(table.column), f"{written(table.dimension)} is not null"
    return Metric(spec=MetricSpec(name="sum", columns=(column,), where=where), dataset=table.dataset)


def _literal(value: str | float) -> str:
    return written_literal(value) if isinstance(value, str) else number_text(float(value))


def _wanted(metric: DatasetProfile, name: str, assertion: str, *, severity: str | None = None) -> WantedTest:
    return WantedTest(
        name=name[:LONGEST_NAME],
        category="metric",
        definition=Definition.by(metric.targets, assertion=assertion, schedule="partition", severity=severity),
        datacenter=metric.replicas[0].datacenter,
        spoils=None,
        scope="partition",
    )
