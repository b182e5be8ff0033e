"""The standard tests: what metadata and lineage lead to, one small rule for each row of the table in the docs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain, permutations
from typing import Literal

from assay.access import Owned, may_show
from assay.catalog.column_types import KEYS, OTHERS
from assay.catalog.profile import DatasetProfile
from assay.time.durations import format_duration
from assay.time.windows import aligned
from execution_engine.language.business_metric import expression_of, not_additive, only_where
from execution_engine.language.parse import has_hidden
from execution_engine.language.serialise import number_text, to_text
from execution_engine.language.tree import Arithmetic, Metric, Operator
from execution_engine.metrics.definitions.freshness import VALUE
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec, written_literal
from test_generator.definition import DataTestSpec, Definition, GapSpec, Generation, Scope

StandardCategory = Literal["freshness", "completeness", "duplicates", "consistency", "schema", "novelty", "metric"]
UNPARTITIONED = "unpartitioned:whole"  # the name of the test of the rows that lie in no partition
LONGEST_NAME = 300  # of a test, in characters
LAST = 60  # windows whose values make the band, where the definition of a business metric names no other number
_LONGEST_KEY = 1500  # bytes: it stands in one assertion twice
_DECIMALS = 15  # no share is known better, and the language reads numbers of at most 40 characters
_COMPLETE_AT_MOST = 0.999  # a dataset that promises all of its rows is there, for its consumers, a little sooner


Results = Iterator[DataTestSpec | GapSpec]


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """A direct upstream and what its lineage says of the edge."""

    dataset: DatasetProfile
    one_to_one: bool = False
    sampled: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)  # column of the dataset's primary key → its name upstream


def standard_tests(dataset: DatasetProfile, upstreams: Sequence[Upstream], *, is_fed: bool = False) -> Generation:
    """The tests that the dataset should have, and the gaps where its metadata leads to none.

    Of ``upstreams`` those matter whose rows are compared; ``is_fed`` says that there are others at least.
    """
    if not dataset.replicas:
        categories: tuple[StandardCategory, ...] = ("freshness", "completeness", "duplicates", "consistency")
        return Generation.of(
            _gap(dataset, category, "it has no replica: say where its data lies.") for category in categories
        )
    others = [edge for edge in upstreams if edge.dataset.full_name != dataset.full_name]
    rules = (
        _freshness(dataset),
        _completeness(dataset, others, is_fed=is_fed or bool(others)),
        _duplicates(dataset),
        _consistency(dataset),
        _schema(dataset),
        _of_profiles(dataset),
    )
    return Generation.of(chain.from_iterable(rules))


def is_comparable(dataset: DatasetProfile, upstream: DatasetProfile) -> bool:
    """Whether each partition of the dataset can be set against partitions of the upstream."""
    if dataset.partition is None or upstream.partition is None:
        return False
    return aligned(dataset.partition.partitioning, upstream.partition.partitioning)


def _freshness(dataset: DatasetProfile) -> Results:
    """Every replica's partitions are complete in time; one that is not home, against home."""
    if dataset.partition is None:
        yield _gap(dataset, "freshness", "it has no partition key, so nothing says for when its data is.")
        return
    complete = number(min(_COMPLETE_AT_MOST, dataset.targets.completeness))
    assertion = f"freshness(complete={complete}) < {format_duration(dataset.targets.freshness)}"
    for index, replica in enumerate(dataset.replicas):
        name = f"freshness@{replica.datacenter}" if index else "freshness"
        yield _test(dataset, "freshness", name, assertion, replica.datacenter)


def _completeness(dataset: DatasetProfile, upstreams: Sequence[Upstream], *, is_fed: bool) -> Results:
    """As many rows as each one-to-one upstream has, the keys of samples of others, and no row outside partitions."""
    for edge in upstreams:
        if not edge.one_to_one:
            continue
        if reason := _obstacle(dataset, edge.dataset):
            yield _gap(dataset, "completeness", reason)
            continue
        # partition by partition and in the whole table: too few are lost, too many were loaded twice
        name, sla = edge.dataset.full_name, dataset.targets.completeness
        bounds = f"{number(sla)} and {format(2 - _decimal(sla), 'f')}"
        ratio = f"row_count() / row_count(dataset={text(name)})"
        yield from _both_scopes(dataset, "completeness", f"completeness:{name}", f"{ratio} between {bounds}")
    for edge in upstreams:
        if not edge.sampled:
            continue
        name = edge.dataset.full_name
        if any(replica.is_in_lake for replica in edge.dataset.replicas[:1]):
            if not edge.one_to_one:
                exact = "is sampled but lies inside the lake, where counting is exact: mark it one-to-one instead."
                yield _gap(dataset, "completeness", f"{name} {exact}")
        elif obstacle := _sampling_obstacle(dataset, edge) or _obstacle(dataset, edge.dataset):
            yield _gap(dataset, "completeness", obstacle)
        else:  # keys drawn from an upstream outside the lake are found here
            share = f"sample_found({text(name)}) / sample_size({text(name)})"
            assertion = f"{share} >= {number(dataset.targets.completeness)}"
            yield _test(dataset, "completeness", f"completeness-sample:{name}", assertion)
    if not any(edge.one_to_one or edge.sampled for edge in upstreams):
        reason = "none of its upstreams is one-to-one or sampled" if is_fed else "it has no upstream"
        yield _gap(dataset, "completeness", f"{reason}, so there is nothing to compare its rows with.", mendable=False)
    if dataset.partition is not None:
        # a row where the test of no partition sees it; soft: such rows make no partition that is read any worse
        most = dataset.slas.unpartitioned
        few = f"unpartitioned_rows() / row_count() <= {number(most)}" if most else "unpartitioned_rows() = 0"
        yield _test(dataset, "completeness", "unpartitioned", few, scope="table", severity="soft")


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
    upstream, name = edge.dataset, edge.dataset.full_name
    if not dataset.replicas[0].is_in_lake:
        return f"it lies outside the lake itself, so a sample of {name} cannot be looked up in it."
    if reason := _key_obstacle(dataset):
        return f"{reason.removesuffix('.')}, so a sample of {name} cannot be looked up."
    sensitive = dataset.sensitive_columns | upstream.sensitive_columns
    keys = [edge.keys.get(column, column) for column in dataset.primary_key]
    if hidden := [column for column in dict.fromkeys((*dataset.primary_key, *keys)) if column.casefold() in sensitive]:
        return f"its primary key {', '.join(hidden)} is sensitive, and a sample would keep its values."
    whose = (
        Owned(name=profile.full_name, owner=profile.owner, team=profile.team, readers=profile.readers)
        for profile in (upstream, dataset)
    )
    if not may_show(*whose):
        return f"{name} is shown to its readers only, and a sample of its keys would be shown here to others."
    if not upstream.columns or not (missing := [column for column in keys if column not in upstream.column_names]):
        return None
    reason = f"its primary key {', '.join(missing)} is no column of {name}, which is sampled by it"
    return f"{reason}: if the key has another name there, write keys: {{{dataset.primary_key[0]}: …}} at the edge."


def _duplicates(dataset: DatasetProfile) -> Results:
    """The share of rows whose primary key is another row's too, or is null in a part: such a row has no key."""
    if reason := _key_obstacle(dataset):
        yield _gap(dataset, "duplicates", reason)
        return
    yield from _both_scopes(
        dataset, "duplicates", "duplicates", duplicates(dataset.primary_key, dataset.targets.duplicates)
    )


def duplicates(primary_key: Sequence[str], sla: float) -> str:
    """The assertion that at most a share of rows has a key that is not their own."""
    return f"1 - count_distinct({columns(primary_key)}) / row_count() <= {number(sla)}"


def _key_obstacle(dataset: DatasetProfile) -> str | None:
    key = dataset.primary_key
    if not key:
        return "it has no primary key."
    if lost := [column for column in key if dataset.columns and column not in dataset.column_names]:
        return f"its primary key {', '.join(lost)} is no column of it."
    if hidden := [column for column in key if has_hidden(column)]:
        return f"its primary key has a hidden character in {', '.join(map(repr, hidden))}: rename the column."
    if (size := len(columns(key).encode())) > _LONGEST_KEY:
        return f"its primary key takes {size} bytes to name, and an assertion has room for {_LONGEST_KEY}."
    return None


def _consistency(dataset: DatasetProfile) -> Results:
    """Each replica against each other one: the formula only sees what the other side lacks."""
    if len(dataset.replicas) < 2:
        alone = "it has one replica, so there is nothing to compare it with."
        yield _gap(dataset, "consistency", alone, mendable=False)
    pairs, sla = list(permutations(dataset.replicas, 2)), number(dataset.targets.consistency)
    for here, other in pairs:
        count = f"least(row_count(), row_count(datacenter={text(other.datacenter)})) / row_count() >= {sla}"
        name = f"consistency-count:{here.datacenter}>{other.datacenter}"
        yield from _both_scopes(dataset, "consistency", name, count, here.datacenter, other.datacenter)
    if pairs and (reason := _key_obstacle(dataset)):
        yield _gap(dataset, "consistency", f"{reason.removesuffix('.')}, so only its rows are counted.")
        return
    keys = columns(dataset.primary_key)
    for here, other in pairs:  # by Bloom filter, each partition alone: one of a long table would be too large to ship
        if not (here.is_in_lake and other.is_in_lake):
            outside = other if here.is_in_lake else here
            reason = f"its replica in {outside.datacenter} lies outside the lake, where no Bloom filter can be built."
            yield _gap(dataset, "consistency", reason, mendable=False)
            continue
        share = f"keys_found({keys}, datacenter={text(other.datacenter)}) / distinct_count({keys}) >= {sla}"
        name = f"consistency-bloom:{here.datacenter}>{other.datacenter}"
        yield _test(dataset, "consistency", name, share, here.datacenter, other.datacenter)


def _schema(dataset: DatasetProfile) -> Results:
    """The declared columns are there as declared: those of the keys as hard as the tier, the others soft."""
    keys = {name.casefold() for name in dataset.key_columns}
    are_keys = [column.name.casefold() in keys for column in dataset.columns]
    if any(are_keys):
        yield _test(dataset, "schema", "schema-keys", f"schema_drift(of={text(KEYS)}) = 0")
    if not all(are_keys):
        yield _test(dataset, "schema", "schema", f"schema_drift(of={text(OTHERS)}) = 0", severity="soft")


def _of_profiles(dataset: DatasetProfile) -> Results:
    """Each partition is like those before it and, where that is asked for, keeps to the schema that they share.

    Soft: it says that something is unusual, not that it is wrong.
    """
    if dataset.inferred_schema and dataset.partition is None:
        reason = "it has no partition key, so a schema cannot be inferred from earlier partitions."
        yield _gap(dataset, "schema", reason)
    rules: list[tuple[StandardCategory, str, str]] = []
    if dataset.partition is not None and dataset.inferred_schema:
        rules.append(("schema", "schema-inferred", "novelty(method='schema') <= 1"))
    if dataset.partition is not None and dataset.targets.novelty:
        rules.append(("novelty", "novelty", "novelty() <= 1"))
    for category, name, assertion in rules:
        if dataset.replicas[0].is_in_lake:
            yield _test(dataset, category, name, assertion, severity="soft")
        else:
            yield _gap(dataset, category, "it lies outside the lake, where no profile is taken.", mendable=False)


def business_metric_tests(metric: DatasetProfile) -> Generation:
    """The tests of a business metric whose definition is complete, and the gaps where its expression allows none.

    It is there, in time, within its band, and its break-downs add up.
    """
    definition = metric.business_metric
    assert definition is not None
    options = ", ".join(
        f"{name}={written_literal(value) if isinstance(value, str) else number_text(float(value))}"
        for name, value in {"last": LAST, **definition.band}.items()
    )
    freshness = f"sources_freshness() < {format_duration(metric.targets.freshness)}"
    band = f"anomaly(value(), {options}) <= 1"
    tests = [
        _test(metric, "metric", "value", "has_value() = 1"),
        _test(metric, "metric", "freshness", freshness),
        _test(metric, "metric", "band", band, severity="soft"),  # unusual is not yet wrong
    ]
    if not definition.dimensions and not definition.served:
        return Generation.of(tests)
    tree = expression_of(definition.canonical)
    if (why := not_additive(tree)) is not None:
        names = ", ".join(definition.dimensions)
        reason = f"its parts by {names} do not add up to the whole, so nothing is compared: {why}"
        return Generation.of([*tests, _gap(metric, "metric", reason[:500], mendable=False)])
    parts = {f"dimension:{name}": only_where(tree, f"{written(name)} is not null") for name in definition.dimensions}
    for table in definition.served:
        where = f"{written(table.dimension)} is not null"
        spec = MetricSpec(name="sum", columns=(written(table.column),), where=where)
        parts[f"dimension:{table.dimension}@{table.dataset}"] = Metric(spec=spec, dataset=table.dataset)
    low, high = number(1 - definition.tolerance), number(1 + definition.tolerance)
    whole = Metric(spec=MetricSpec(name=VALUE.name))
    for name, part in parts.items():
        ratio = to_text(Arithmetic(operator=Operator.DIVIDE, left=part, right=whole))
        tests.append(_test(metric, "metric", name[:LONGEST_NAME], f"{ratio} between {low} and {high}"))
    return Generation.of(tests)


def _both_scopes(
    dataset: DatasetProfile,
    category: StandardCategory,
    name: str,
    assertion: str,
    datacenter: str | None = None,
    spoils: str = "",
) -> Results:
    """Each partition as it comes, and weekly the whole table, where old partitions may have changed."""
    scopes: tuple[Scope, ...] = ("partition", "table") if dataset.partition else ("table",)
    return (_test(dataset, category, name, assertion, datacenter, spoils, scope=scope) for scope in scopes)


def _test(
    dataset: DatasetProfile,
    category: StandardCategory,
    name: str,
    assertion: str,
    datacenter: str | None = None,
    spoils: str = "",
    *,
    scope: Scope | None = None,
    severity: str | None = None,
) -> DataTestSpec:
    """One test, at home and of the partitions where nothing else is said."""
    scope = scope or ("partition" if dataset.partition else "table")
    schedule = "partition" if scope == "partition" else "weekly"
    return DataTestSpec(
        name=name if scope == "partition" else f"{name}:whole",
        category=category,
        definition=Definition.by(dataset.targets, assertion=assertion, schedule=schedule, severity=severity),
        datacenter=datacenter or dataset.replicas[0].datacenter,
        spoils=spoils,
        scope=scope,
    )


def _gap(dataset: DatasetProfile, category: StandardCategory, reason: str, *, mendable: bool = True) -> GapSpec:
    return GapSpec(dataset=dataset.full_name, category=category, reason=reason, mendable=mendable)


def columns(names: Sequence[str]) -> str:
    """Columns as an assertion names them, those of other names than letters, digits and _ in backticks."""
    return ", ".join(map(written, names))


def number(value: float) -> str:
    """A number without exponent or float noise: 0.999, 1, 0.00001."""
    return format(_decimal(value), "f")


def text(value: str) -> str:
    """A string of the language: quotes inside are doubled."""
    return "'" + value.replace("'", "''") + "'"


def _decimal(value: float) -> Decimal:
    decimal = Decimal(repr(round(float(value), _DECIMALS)))
    return decimal.to_integral_value() if decimal == decimal.to_integral_value() else decimal


# From the tests there are to the tests there should be.


@dataclass(frozen=True, kw_only=True)
class ExistingTest:
    """A test of the dataset as it stands. A user's test matters by its name, and by whether its source has it."""

    id: int
    name: str
    definition: DataTestSpec | None  # None for a user's test
    retired_at: datetime | None = None
    missing_since: datetime | None = None  # since when it, or a generated test's dataset, is gone from its source


Pair = tuple[ExistingTest, DataTestSpec]  # an existing test and the definition it should have


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What to do. A revived test takes the wanted definition, whatever it had before."""

    create: tuple[DataTestSpec, ...] = ()
    revise: tuple[Pair, ...] = ()
    retire: tuple[ExistingTest, ...] = ()
    revive: tuple[Pair, ...] = ()


def reconcile(
    existing: Sequence[ExistingTest], specs: Sequence[DataTestSpec], *, now: datetime, retire_grace: timedelta
) -> Changes:
    """What turns one dataset's generated tests into the wanted ones, and retires users' tests that left their source.

    A test no longer wanted is retired at once. Where the whole dataset is gone nothing is wanted, but its tests stay
    for the grace, as a user's test does: a source that loses a table for an hour must not end them.
    """
    generated = [test for test in existing if test.definition is not None]
    is_gone = any(test.missing_since for test in generated)
    targets = {} if is_gone else {test.name: test for test in specs}
    pairs = [(test, targets[test.name]) for test in generated if test.name in targets]
    left = [test for test in existing if test.definition is None and test.missing_since]
    over = [*(test for test in generated if test.name not in targets), *left]
    names = {test.name for test in existing}  # a user's test keeps its name
    return Changes(
        create=tuple(test for name, test in targets.items() if name not in names),
        revise=tuple((test, to) for test, to in pairs if test.retired_at is None and test.definition != to),
        retire=tuple(
            test
            for test in over
            if test.retired_at is None and (test.missing_since is None or now - test.missing_since >= retire_grace)
        ),
        revive=tuple((test, to) for test, to in pairs if test.retired_at),
    )
