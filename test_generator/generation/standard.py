"""The standard tests: what metadata and lineage lead to, one small rule for each row of the table in the docs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from assay.access.readers import may_show
from assay.access.roles import Owned
from assay.catalog.declared import KEYS, OTHERS
from assay.catalog.profile import DatasetProfile, ReplicaProfile
from test_generator.data_tests.alignment import aligned
from test_generator.definition import Definition

from . import assertions
from .wanted import Generation, Scope, StandardCategory, WantedGap, WantedTest

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
    assertion = assertions.freshness(targets.freshness, targets.completeness)
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
    test = _wanted(
        dataset, "completeness", "unpartitioned", assertions.unpartitioned(dataset.slas.unpartitioned), scope="table"
    )
    return Generation(wanted=(_softly(test),))


def _rows_of(dataset: DatasetProfile, upstream: DatasetProfile) -> Generation:
    """As many rows as a one-to-one upstream, partition by partition and in the whole table."""
    obstacle = _obstacle(dataset, upstream)
    if obstacle is not None:
        return _gap(dataset, "completeness", obstacle)
    assertion = assertions.completeness(upstream.full_name, dataset.targets.completeness)
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
    assertion = assertions.sampled_completeness(name, dataset.targets.completeness)
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
    assertion = assertions.duplicates(dataset.primary_key, dataset.targets.duplicates)
    return _both_scopes(dataset, "duplicates", "duplicates", assertion)


def _key_obstacle(dataset: DatasetProfile) -> str | None:
    """Why the primary key cannot be used, if it cannot."""
    if not dataset.primary_key:
        return "it has no primary key."
    lost = [column for column in dataset.primary_key if dataset.columns and column not in dataset.column_names]
    if lost:
        return f"its primary key {', '.join(lost)} is no column of it."
    problem = assertions.key_problem(dataset.primary_key)
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
    assertion = assertions.consistent_count(other.datacenter, dataset.targets.consistency)
    name = f"consistency-count:{here.datacenter}>{other.datacenter}"
    return _both_scopes(dataset, "consistency", name, assertion, here, other)


def _same_keys(dataset: DatasetProfile, here: ReplicaProfile, other: ReplicaProfile) -> Generation:
    """By Bloom filter, each partition on its own: a filter of all keys of a long table would be too large to ship."""
    if not (here.is_in_lake and other.is_in_lake):
        outside = other if here.is_in_lake else here
        reason = f"its replica in {outside.datacenter} lies outside the lake, where no Bloom filter can be built."
        return _gap(dataset, "consistency", reason, mendable=False)
    assertion = assertions.consistent_keys(dataset.primary_key, other.datacenter, dataset.targets.consistency)
    name = f"consistency-bloom:{here.datacenter}>{other.datacenter}"
    return Generation(wanted=(_wanted(dataset, "consistency", name, assertion, here, other),))


def _schema(dataset: DatasetProfile) -> Generation:
    """The declared columns are there as declared: those of the keys as hard as the tier, the others soft."""
    keys = {name.casefold() for name in dataset.key_columns}
    are_keys = [column.name.casefold() in keys for column in dataset.columns]
    wanted = []
    if any(are_keys):
        wanted.append(_wanted(dataset, "schema", "schema-keys", assertions.schema(KEYS)))
    if not all(are_keys):
        wanted.append(_softly(_wanted(dataset, "schema", "schema", assertions.schema(OTHERS))))
    return Generation(wanted=tuple(wanted))


def _inferred_schema(dataset: DatasetProfile) -> Generation:
    """Each partition keeps to the schema that those before it have in common; for those who ask for it. Soft."""
    if not dataset.inferred_schema:
        return Generation()
    if dataset.partition is None:
        reason = "it has no partition key, so a schema cannot be inferred from earlier partitions."
        return _gap(dataset, "schema", reason)
    return _from_profiles(dataset, "schema", "schema-inferred", assertions.inferred_schema())


def _novelty(dataset: DatasetProfile) -> Generation:
    """Each partition is like those before it. Soft: it says that something is unusual, not that it is wrong."""
    if dataset.partition is None or not dataset.targets.novelty:
        return Generation()
    return _from_profiles(dataset, "novelty", "novelty", assertions.novelty())


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
