"""The standard tests: what metadata and lineage lead to, one small rule for each row of the table in the docs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from itertools import permutations
from typing import Literal

from assay.access import Owned, may_show
from assay.catalog.column_types import KEYS, OTHERS
from assay.catalog.profile import BusinessMetricDefinition, CategoryName, DatasetProfile, ReplicaProfile, ServedTable
from assay.time.durations import format_duration
from execution_engine.language.business_metric import expression_of, not_additive, only_where
from execution_engine.language.parse import has_hidden
from execution_engine.language.serialise import number_text, to_text
from execution_engine.language.tree import Arithmetic, Expression, Metric, Operator
from execution_engine.metrics.definitions.freshness import VALUE
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec, written_literal
from test_generator.data_tests.alignment import aligned
from test_generator.definition import Definition

# The texts of the standard assertions, in the assertion language.

_LONGEST_KEY = 1500  # bytes: it stands in one assertion twice
_DECIMALS = 15  # no share is known better, and the language reads numbers of at most 40 characters
_COMPLETE_AT_MOST = 0.999  # a dataset that promises all of its rows is there, for its consumers, a little sooner


def key_problem(primary_key: Sequence[str]) -> str | None:
    """Why no assertion can name this key, if none can."""
    hidden = [column for column in primary_key if has_hidden(column)]
    if hidden:
        return f"has a hidden character in {', '.join(map(repr, hidden))}: rename the column."
    size = len(columns(primary_key).encode())
    return f"takes {size} bytes to name, and an assertion has room for {_LONGEST_KEY}." if size > _LONGEST_KEY else None


def freshness(sla: timedelta, completeness: float) -> str:
    """A partition is complete no later than ``sla`` after its end."""
    return f"freshness(complete={number(min(_COMPLETE_AT_MOST, completeness))}) < {format_duration(sla)}"


def completeness(upstream: str, sla: float) -> str:
    """As many rows as the upstream has: too few are lost, too many were loaded twice."""
    ratio = f"row_count() / row_count(dataset={text(upstream)})"
    return f"{ratio} between {number(sla)} and {format(2 - _decimal(sla), 'f')}"


def sampled_completeness(upstream: str, sla: float) -> str:
    """Of a sample of the upstream's keys, enough are found here."""
    return f"sample_found({text(upstream)}) / sample_size({text(upstream)}) >= {number(sla)}"


def duplicates(primary_key: Sequence[str], sla: float) -> str:
    """The share of rows whose primary key is another row's too, or is null in a part: such a row has no key."""
    return f"1 - count_distinct({columns(primary_key)}) / row_count() <= {number(sla)}"


def unpartitioned(sla: float | None) -> str:
    """No row, or at most a share of all, lies in no partition."""
    return "unpartitioned_rows() = 0" if not sla else f"unpartitioned_rows() / row_count() <= {number(sla)}"


def consistent_count(other: str, sla: float) -> str:
    """The other datacenter has as many rows, or more."""
    return f"least(row_count(), row_count(datacenter={text(other)})) / row_count() >= {number(sla)}"


def consistent_keys(primary_key: Sequence[str], other: str, sla: float) -> str:
    """The other datacenter has the same keys, by a Bloom filter of them."""
    keys = columns(primary_key)
    return f"keys_found({keys}, datacenter={text(other)}) / distinct_count({keys}) >= {number(sla)}"


def columns(names: Sequence[str]) -> str:
    """Columns as an assertion names them, those of other names than letters, digits and _ in backticks."""
    return ", ".join(map(written, names))


def schema(of: str) -> str:
    """The declared columns of the keys, or the others, are there with room for what was declared."""
    return f"schema_drift(of={text(of)}) = 0"


def novelty() -> str:
    """The rows are like those of the partitions before."""
    return "novelty() <= 1"


def inferred_schema() -> str:
    """The rows keep to the schema that the partitions before have in common."""
    return "novelty(method='schema') <= 1"


def number(value: float) -> str:
    """A number without exponent or float noise: 0.999, 1, 0.00001."""
    return format(_decimal(value), "f")


def text(value: str) -> str:
    """A string of the language: quotes inside are doubled."""
    return "'" + value.replace("'", "''") + "'"


def _decimal(value: float) -> Decimal:
    decimal = Decimal(repr(round(float(value), _DECIMALS)))
    return decimal.to_integral_value() if decimal == decimal.to_integral_value() else decimal


# What generation yields: the tests a dataset should have, and the gaps where one cannot be written.

StandardCategory = Literal["freshness", "completeness", "duplicates", "consistency", "schema", "novelty", "metric"]
Scope = Literal["partition", "table"]


@dataclass(frozen=True, kw_only=True)
class WantedTest:
    """One standard test. Its name is its identity within the dataset; all else may change with the metadata."""

    name: str
    category: StandardCategory
    definition: Definition
    datacenter: str  # where it runs
    spoils: str | None  # the datacenter in which what it finds missing is spoilt; None: where it runs
    scope: Scope


@dataclass(frozen=True, kw_only=True)
class WantedGap:
    """A standard test, or one of a template, that cannot be written, with the reason as a sentence for the owner.

    ``mendable``: metadata would mend it, so it counts against coverage; the others are only shown.
    """

    dataset: str
    category: CategoryName
    reason: str
    mendable: bool = True
    template: str = ""  # empty: a standard test


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Everything that the metadata of one dataset leads to."""

    wanted: tuple[WantedTest, ...] = ()
    gaps: tuple[WantedGap, ...] = ()

    def __add__(self, other: "Generation") -> "Generation":
        return Generation(wanted=self.wanted + other.wanted, gaps=self.gaps + other.gaps)


# The standard tests of a business metric: it is there, in time, within its band, and its break-downs add up (pure).

LONGEST_NAME = 300  # of a test, in characters
LAST = 60  # windows whose values make the band, where the definition names no other number


def business_metric_tests(metric: DatasetProfile) -> Generation:
    """The tests of a business metric whose definition is complete, and the gaps where its expression allows none."""
    definition = metric.business_metric
    assert definition is not None
    band = {"last": LAST, **definition.band}
    options = ", ".join(f"{name}={_literal(value)}" for name, value in band.items())
    wanted = (
        _metric_test(metric, "value", "has_value() = 1"),
        _metric_test(metric, "freshness", f"sources_freshness() < {format_duration(metric.targets.freshness)}"),
        _metric_test(metric, "band", f"anomaly(value(), {options}) <= 1", severity="soft"),  # unusual is not yet wrong
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
        _metric_test(
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


def _metric_test(metric: DatasetProfile, name: str, assertion: str, *, severity: str | None = None) -> WantedTest:
    return WantedTest(
        name=name[:LONGEST_NAME],
        category="metric",
        definition=Definition.by(metric.targets, assertion=assertion, schedule="partition", severity=severity),
        datacenter=metric.replicas[0].datacenter,
        spoils=None,
        scope="partition",
    )


UNPARTITIONED = "unpartitioned:whole"  # the name of the test of the rows that lie in no partition


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """A direct upstream and what its lineage says of the edge."""

    dataset: DatasetProfile
    one_to_one: bool = False
    sampled: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)  # column of the dataset's primary key → its name upstream


def standard_tests(dataset: DatasetProfile, upstreams: Sequence[Upstream]) -> Generation:
    """The tests that the dataset should have, and the gaps where its metadata leads to none."""
    if not dataset.replicas:
        categories: tuple[StandardCategory, ...] = ("freshness", "completeness", "duplicates", "consistency")
        why = "it has no replica: say where its data lies."
        return sum((_gap(dataset, category, why) for category in categories), Generation())
    others = [each for each in upstreams if each.dataset.full_name != dataset.full_name]
    rules = (
        _freshness(dataset),
        _completeness(dataset, others),
        _unpartitioned(dataset),
        _duplicates(dataset),
        _consistency(dataset),
        _schema(dataset),
        _inferred_schema(dataset),
        _novelty(dataset),
    )
    return sum(rules, start=Generation())


def is_comparable(dataset: DatasetProfile, upstream: DatasetProfile) -> bool:
    """Whether each partition of the dataset can be set against partitions of the upstream."""
    if dataset.partition is None or upstream.partition is None:
        return False
    return aligned(dataset.partition.partitioning, upstream.partition.partitioning)


def _freshness(dataset: DatasetProfile) -> Generation:
    """Every replica's partitions are complete in time; one that is not home, against home."""
    if dataset.partition is None:
        return _gap(dataset, "freshness", "it has no partition key, so nothing says for when its data is.")
    targets = dataset.targets
    assertion = freshness(targets.freshness, targets.completeness)
    wanted = (
        _wanted(dataset, "freshness", f"freshness@{replica.datacenter}" if index else "freshness", assertion, replica)
        for index, replica in enumerate(dataset.replicas)
    )
    return Generation(wanted=tuple(wanted))


def _completeness(dataset: DatasetProfile, upstreams: Sequence[Upstream]) -> Generation:
    rules = [_rows_of(dataset, each.dataset) for each in upstreams if each.one_to_one]
    rules += [_sample_of(dataset, each) for each in upstreams if each.sampled]
    if rules:
        return sum(rules, start=Generation())
    reason = "none of its upstreams is one-to-one or sampled" if upstreams else "it has no upstream"
    return _gap(dataset, "completeness", f"{reason}, so there is nothing to compare its rows with.", mendable=False)


def _unpartitioned(dataset: DatasetProfile) -> Generation:
    """No row lies where the test of no partition sees it. Soft: such rows make no partition that is read any worse."""
    if dataset.partition is None:
        return Generation()
    test = _wanted(dataset, "completeness", "unpartitioned", unpartitioned(dataset.slas.unpartitioned), scope="table")
    return Generation(wanted=(_softly(test),))


def _rows_of(dataset: DatasetProfile, upstream: DatasetProfile) -> Generation:
    """As many rows as a one-to-one upstream, partition by partition and in the whole table."""
    obstacle = _obstacle(dataset, upstream)
    if obstacle is not None:
        return _gap(dataset, "completeness", obstacle)
    assertion = completeness(upstream.full_name, dataset.targets.completeness)
    return _both_scopes(dataset, "completeness", f"completeness:{upstream.full_name}", assertion)


def _sample_of(dataset: DatasetProfile, upstream: Upstream) -> Generation:
    """Keys drawn from an upstream outside the lake are found here."""
    name = upstream.dataset.full_name
    if any(replica.is_in_lake for replica in upstream.dataset.replicas[:1]):
        reason = f"{name} is sampled but lies inside the lake, where counting is exact: mark it one-to-one instead."
        return Generation() if upstream.one_to_one else _gap(dataset, "completeness", reason)
    unusable = _sampling_obstacle(dataset, upstream) or _obstacle(dataset, upstream.dataset)
    if unusable is not None:
        return _gap(dataset, "completeness", unusable)
    assertion = sampled_completeness(name, dataset.targets.completeness)
    return Generation(wanted=(_wanted(dataset, "completeness", f"completeness-sample:{name}", assertion),))


def _obstacle(dataset: DatasetProfile, upstream: DatasetProfile) -> str | None:
    """Why the rows of the two cannot be compared, if they cannot."""
    if not upstream.replicas:
        return f"its upstream {upstream.full_name} has no replica: say where its data lies."
    if dataset.partition is None or is_comparable(dataset, upstream):
        return None
    if upstream.partition is None:
        return f"its upstream {upstream.full_name} has no partition key, so no part of it matches a partition."
    return f"partitions do not align: those of {upstream.full_name} do not tile its own; give both the same time zone."


def _sampling_obstacle(dataset: DatasetProfile, edge: Upstream) -> str | None:
    """Why a sample's keys cannot be looked up, if they cannot."""
    upstream, name = edge.dataset, edge.dataset.full_name
    if not dataset.replicas[0].is_in_lake:
        return f"it lies outside the lake itself, so a sample of {name} cannot be looked up in it."
    if reason := _key_obstacle(dataset):
        return f"{reason.removesuffix('.')}, so a sample of {name} cannot be looked up."
    sensitive = dataset.sensitive_columns | upstream.sensitive_columns
    keys = [edge.keys.get(column, column) for column in dataset.primary_key]
    if hidden := [column for column in dict.fromkeys((*dataset.primary_key, *keys)) if column.casefold() in sensitive]:
        return f"its primary key {', '.join(hidden)} is sensitive, and a sample would keep its values."
    if not may_show(_owned(upstream), _owned(dataset)):
        return f"{name} is shown to its readers only, and a sample of its keys would be shown here to others."
    columns = upstream.column_names
    missing = [column for column in keys if upstream.columns and column not in columns]
    if not missing:
        return None
    reason = f"its primary key {', '.join(missing)} is no column of {name}, which is sampled by it"
    return f"{reason}: if the key has another name there, write keys: {{{dataset.primary_key[0]}: …}} at the edge."


def _duplicates(dataset: DatasetProfile) -> Generation:
    if reason := _key_obstacle(dataset):
        return _gap(dataset, "duplicates", reason)
    assertion = duplicates(dataset.primary_key, dataset.targets.duplicates)
    return _both_scopes(dataset, "duplicates", "duplicates", assertion)


def _key_obstacle(dataset: DatasetProfile) -> str | None:
    """Why the primary key cannot be used, if it cannot."""
    if not dataset.primary_key:
        return "it has no primary key."
    lost = [column for column in dataset.primary_key if dataset.columns and column not in dataset.column_names]
    if lost:
        return f"its primary key {', '.join(lost)} is no column of it."
    problem = key_problem(dataset.primary_key)
    return None if problem is None else f"its primary key {problem}"


def _consistency(dataset: DatasetProfile) -> Generation:
    """Each replica against each other one: the formula only sees what the other side lacks."""
    if len(dataset.replicas) < 2:
        alone = "it has one replica, so there is nothing to compare it with."
        return _gap(dataset, "consistency", alone, mendable=False)
    pairs = list(permutations(dataset.replicas, 2))
    counts = sum((_same_count(dataset, here, other) for here, other in pairs), start=Generation())
    if reason := _key_obstacle(dataset):
        return counts + _gap(dataset, "consistency", f"{reason.removesuffix('.')}, so only its rows are counted.")
    return sum((_same_keys(dataset, here, other) for here, other in pairs), start=counts)


def _same_count(dataset: DatasetProfile, here: ReplicaProfile, other: ReplicaProfile) -> Generation:
    assertion = consistent_count(other.datacenter, dataset.targets.consistency)
    name = f"consistency-count:{here.datacenter}>{other.datacenter}"
    return _both_scopes(dataset, "consistency", name, assertion, here, other)


def _same_keys(dataset: DatasetProfile, here: ReplicaProfile, other: ReplicaProfile) -> Generation:
    """By Bloom filter, each partition on its own: a filter of all keys of a long table would be too large to ship."""
    if not (here.is_in_lake and other.is_in_lake):
        outside = other if here.is_in_lake else here
        reason = f"its replica in {outside.datacenter} lies outside the lake, where no Bloom filter can be built."
        return _gap(dataset, "consistency", reason, mendable=False)
    assertion = consistent_keys(dataset.primary_key, other.datacenter, dataset.targets.consistency)
    name = f"consistency-bloom:{here.datacenter}>{other.datacenter}"
    return Generation(wanted=(_wanted(dataset, "consistency", name, assertion, here, other),))


def _schema(dataset: DatasetProfile) -> Generation:
    """The declared columns are there as declared: those of the keys as hard as the tier, the others soft."""
    keys = {name.casefold() for name in dataset.key_columns}
    are_keys = [column.name.casefold() in keys for column in dataset.columns]
    wanted = []
    if any(are_keys):
        wanted.append(_wanted(dataset, "schema", "schema-keys", schema(KEYS)))
    if not all(are_keys):
        wanted.append(_softly(_wanted(dataset, "schema", "schema", schema(OTHERS))))
    return Generation(wanted=tuple(wanted))


def _inferred_schema(dataset: DatasetProfile) -> Generation:
    """Each partition keeps to the schema that those before it have in common; for those who ask for it. Soft."""
    if not dataset.inferred_schema:
        return Generation()
    if dataset.partition is None:
        reason = "it has no partition key, so a schema cannot be inferred from earlier partitions."
        return _gap(dataset, "schema", reason)
    return _from_profiles(dataset, "schema", "schema-inferred", inferred_schema())


def _novelty(dataset: DatasetProfile) -> Generation:
    """Each partition is like those before it. Soft: it says that something is unusual, not that it is wrong."""
    if dataset.partition is None or not dataset.targets.novelty:
        return Generation()
    return _from_profiles(dataset, "novelty", "novelty", novelty())


def _from_profiles(dataset: DatasetProfile, category: StandardCategory, name: str, assertion: str) -> Generation:
    if not dataset.replicas[0].is_in_lake:
        return _gap(dataset, category, "it lies outside the lake, where no profile is taken.", mendable=False)
    return Generation(wanted=(_softly(_wanted(dataset, category, name, assertion)),))


def _both_scopes(
    dataset: DatasetProfile,
    category: StandardCategory,
    name: str,
    assertion: str,
    here: ReplicaProfile | None = None,
    other: ReplicaProfile | None = None,
) -> Generation:
    """Each partition as it comes, and weekly the whole table, where old partitions may have changed."""
    scopes: tuple[Scope, ...] = ("partition", "table") if dataset.partition else ("table",)
    wanted = (_wanted(dataset, category, name, assertion, here, other, scope=scope) for scope in scopes)
    return Generation(wanted=tuple(wanted))


def _wanted(
    dataset: DatasetProfile,
    category: StandardCategory,
    name: str,
    assertion: str,
    here: ReplicaProfile | None = None,
    other: ReplicaProfile | None = None,
    *,
    scope: Scope | None = None,
) -> WantedTest:
    """One test, at home and of the partitions where nothing else is said."""
    scope = scope or ("partition" if dataset.partition else "table")
    return WantedTest(
        name=name if scope == "partition" else f"{name}:whole",
        category=category,
        definition=Definition.by(
            dataset.targets, assertion=assertion, schedule="partition" if scope == "partition" else "weekly"
        ),
        datacenter=(here or dataset.replicas[0]).datacenter,
        spoils=other.datacenter if other else None,
        scope=scope,
    )


def _softly(test: WantedTest) -> WantedTest:
    return replace(test, definition=replace(test.definition, severity="soft"))


def _gap(dataset: DatasetProfile, category: StandardCategory, reason: str, *, mendable: bool = True) -> Generation:
    return Generation(gaps=(WantedGap(dataset=dataset.full_name, category=category, reason=reason, mendable=mendable),))


def _owned(dataset: DatasetProfile) -> Owned:
    return Owned(name=dataset.full_name, owner=dataset.owner, team=dataset.team, readers=dataset.readers)
