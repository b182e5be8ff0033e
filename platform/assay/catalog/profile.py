"""What a catalog provider yields: the metadata of datasets, their lineage and their users' own tests."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

from assay.time.stored_times import Holds
from assay.time.windows import Granularity, Partitioning

from .tiers import TIERS, CatchUp, Severity

Storage = Literal["parquet", "iceberg", "delta", "orc", "csv", "json", "table", "sql"]
COMPUTED: Literal["computed"] = "computed"  # in place of a storage: of a business metric there is nothing to read
GateOn = Literal["outcome", "incident"]
UnknownPolicy = Literal["open", "closed"]
StrengthName = Literal["strong", "weak"]
ChannelName = Literal["email", "slack", "pagerduty", "teams", "apprise", "webhook"]
KindName = Literal["numeric", "text", "temporal"]  # of columns, as the metrics tell them apart
CategoryName = Literal[
    "freshness", "completeness", "duplicates", "consistency", "schema",
    "column", "anomaly", "novelty", "metric", "custom",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column and its type, as the storage names it."""

    name: str
    type: str
    sensitive: bool = False  # its values are never stored, shown or sent


@dataclass(frozen=True, kw_only=True)
class PartitionProfile:
    """How a dataset is cut into partitions, and the key of the first one it ever had."""

    column: str
    granularity: Granularity
    holds: Holds = Holds.KEY
    stored_time_zone: str = "UTC"  # of the times that the column holds
    time_zone: str = "UTC"
    key_format: str = ""  # empty: that of the granularity
    first: str | None = None

    @property
    def partitioning(self) -> Partitioning:
        """The same as a map between keys and windows; raises UnableToPartition."""
        return Partitioning(granularity=self.granularity, time_zone=self.time_zone, key_format=self.key_format)


NO_PARTITION = PartitionProfile(column="", granularity=Granularity.DAY)  # what says that a dataset has none


@dataclass(frozen=True, kw_only=True)
class ReplicaProfile:
    """Where a copy of a dataset lies; what it is stored as says which engine reads it."""

    datacenter: str
    storage: Storage | Literal["computed"]
    location: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_in_lake(self) -> bool:
        """Whether Spark reads it; a ``sql`` table lies outside and is read through its own database."""
        return self.storage not in ("sql", COMPUTED)


@dataclass(frozen=True, kw_only=True)
class SlaProfile:
    """What a dataset promises; None leaves it to the tier."""

    freshness: timedelta | None = None
    completeness: float | None = None
    duplicates: float | None = None
    consistency: float | None = None
    unpartitioned: float | None = None  # the share of rows that may lie in no partition; None: none at all


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What a dataset is held to once its tier has filled in what its metadata leaves open."""

    freshness: timedelta
    completeness: float
    duplicates: float
    consistency: float
    sustain: timedelta
    grace: timedelta
    severity: Severity
    catch_up: CatchUp
    fail_closed: bool
    novelty: bool


TARGETS = tuple(target.name for target in fields(Targets))


@dataclass(frozen=True, kw_only=True)
class ServedTable:
    """A table that serves a business metric, broken down by a dimension; its column adds up to the value."""

    dataset: str
    column: str
    dimension: str


@dataclass(frozen=True, kw_only=True)
class BusinessMetricDefinition:
    """How a business metric is computed, and how it may be broken down."""

    expression: str  # as it was written
    canonical: str  # the same with a dataset in each operand; empty until its sources are known
    sources: tuple[str, ...]  # full names; its partitions and its home are those of the first
    dimensions: tuple[str, ...] = ()
    served: tuple[ServedTable, ...] = ()
    band: Mapping[str, str | float] = field(default_factory=dict)  # options of ``anomaly``
    tolerance: float = 0.001  # the share of its value that a break-down may lose

    def to_json(self) -> dict[str, Any]:
        """A JSON object that ``from_json`` reads back to an equal definition."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "BusinessMetricDefinition":
        """The definition that ``to_json`` wrote."""
        listed = {name: tuple(data[name]) for name in ("sources", "dimensions")}
        served = tuple(ServedTable(**table) for table in data["served"])
        return cls(**{**data, **listed, "served": served})


@dataclass(frozen=True, kw_only=True)
class DatasetProfile:
    """One dataset's metadata. The first replica is home."""

    namespace: str
    name: str
    owner: str
    tier: int
    replicas: tuple[ReplicaProfile, ...]
    description: str = ""
    team: str = ""
    channels: Mapping[ChannelName, str] = field(default_factory=dict, hash=False)  # where its owner is told
    columns: tuple[Column, ...] = ()
    primary_key: tuple[str, ...] = ()
    partition: PartitionProfile | None = None
    slas: SlaProfile = SlaProfile()
    sustain: timedelta | None = None
    grace: timedelta | None = None
    severity: Severity | None = None
    catch_up: CatchUp | None = None
    allow_empty: bool = False
    novelty: bool | None = None  # whether new partitions are compared with those before
    inferred_schema: bool = False  # whether new partitions are held to a schema inferred from those before
    retention: timedelta | None = None
    gate_on: GateOn = "outcome"
    unknown_policy: UnknownPolicy | None = None
    readers: tuple[str, ...] = ()  # role:…, team:… and user:…; empty: everybody
    inherited_sensitive: frozenset[str] = frozenset()  # in lower case; by the place that it reads
    tags: tuple[str, ...] = ()  # short words by which templates and people select
    business_metric: BusinessMetricDefinition | None = None  # None: a table, with data of its own
    place: str = field(default="", compare=False)  # where it is told, ``file:line``; empty: by the API

    @property
    def full_name(self) -> str:
        """The name by which people and assertions call it, such as ``raw.trips``."""
        return f"{self.namespace}.{self.name}"

    @property
    def column_names(self) -> frozenset[str]:
        """The columns it is known to have; the partition key may be a folder's name and not be declared."""
        declared = {column.name for column in self.columns}
        return frozenset(declared | {self.partition.column} if self.partition else declared)

    @property
    def sensitive_columns(self) -> frozenset[str]:
        """The columns whose values are never stored, shown or sent, in lower case."""
        return self.inherited_sensitive | {column.name.casefold() for column in self.columns if column.sensitive}

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the primary and of the partition key."""
        return (*self.primary_key, *([self.partition.column] if self.partition else []))

    @cached_property
    def targets(self) -> Targets:
        """Its SLAs and periods, from its own metadata or else its tier."""
        return targets_of(self.tier, {**vars(self.slas), **vars(self)})


def targets_of(tier: int, own: Mapping[str, Any]) -> Targets:
    """What a dataset of a tier is held to by its ``own`` values, of which None leaves it to the tier."""
    policy, values = own["unknown_policy"], {name: own.get(name) for name in TARGETS}
    values["fail_closed"] = None if policy is None else policy == "closed"
    of_tier = TIERS[tier]
    return Targets(**{name: getattr(of_tier, name) if value is None else value for name, value in values.items()})


# fields of a dataset's profile by how its row holds them: alike, empty where the tier decides, or as lines of a text
SAME = (
    *("description", "owner", "team", "channels", "tier", "sustain", "grace", "allow_empty", "novelty"),
    *("inferred_schema", "retention", "gate_on"),
)
TIERS_WHERE_EMPTY = ("severity", "catch_up", "unknown_policy")
LISTS = ("readers", "tags")
SLAS = ("freshness", "completeness", "duplicates", "consistency", "unpartitioned")


@dataclass(frozen=True, kw_only=True)
class LineageProfile:
    """Data flows from one dataset to another, by full names.

    ``one_to_one``: every row upstream becomes one downstream. ``sampled``: the upstream is checked by a sample of it.
    ``keys`` are the columns of the downstream's primary key that have another name upstream, with that name.
    """

    upstream: str
    downstream: str
    one_to_one: bool = False
    sampled: bool = False
    keys: Mapping[str, str] = field(default_factory=dict, hash=False)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)  # as in ``edges.Columns``
    place: str = field(default="", compare=False)  # where it is told, ``file:line``; empty: by the API


SensitiveName = Literal["hash", "omit"]
STORE_PATH = r"^[A-Za-z0-9][\w-]*(/[A-Za-z0-9][\w.-]*)*$"  # a store's name and the steps to a folder in it
MOST_ROWS, MOST_DAYS = 1_000_000, 366


@dataclass(frozen=True, kw_only=True)
class RowsTarget:
    """Where the failing rows of a test are kept, how many of a run, for how long, and what becomes of sensitive ones.

    ``table`` is the name of a store of the operator's, and below it a folder, such as ``quarantine/trips``.
    """

    table: str
    limit: int = 100_000
    days: int = 30
    sensitive: SensitiveName = "hash"

    def to_json(self) -> dict[str, Any]:
        """A JSON object of its fields."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class CustomProfile:
    """A test that a user wrote; None leaves it to the dataset."""

    dataset: str
    name: str
    assertion: str
    severity: Severity | None = None
    schedule: str = "partition"  # "partition", "weekly", or a cron line in the dataset's zone
    sustain: timedelta | None = None
    catch_up: CatchUp | None = None
    category: CategoryName = "custom"
    keep_rows: RowsTarget | None = None  # None: failing rows are kept nowhere
    place: str = field(default="", compare=False)  # where its assertion is told, ``file:line``; empty: by the API


@dataclass(frozen=True, kw_only=True)
class ColumnSelector:
    """Columns by globs of their names and by kind; what is left empty selects all."""

    names: tuple[str, ...] = ()
    kinds: tuple[KindName, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Selector:
    """Which datasets a template is applied to: those that fit every key, by one of its values; empty keys fit all.

    With ``columns`` it is applied to each of their columns that is selected, otherwise to the dataset as a whole.
    """

    tiers: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # globs of full names
    excluded: tuple[str, ...] = ()  # globs of full names
    owners: tuple[str, ...] = ()  # owners or teams
    columns: ColumnSelector | None = None


@dataclass(frozen=True, kw_only=True)
class TemplateProfile:
    """A rule that is written once and makes a test of each dataset, or column, that its selector names.

    ``parameters`` are the texts that stand for ``{name}`` in the assertion; ``overrides`` are other texts for some
    datasets, by full name. What is None is left to each dataset, as in a user's test.
    """

    name: str
    assertion: str
    selector: Selector
    parameters: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    severity: Severity | None = None
    schedule: str | None = None  # None: "partition", or "weekly" where there are no partitions
    sustain: timedelta | None = None
    catch_up: CatchUp | None = None
    category: CategoryName = "custom"
    keep_rows: RowsTarget | None = None
    needs: str = ""  # what a dataset must have for it, and what a broken one looks like: for people
    example: str = ""
    place: str = field(default="", compare=False)  # where its assertion is told, ``file:line``; empty: by page or API


@dataclass(frozen=True, kw_only=True)
class BindingProfile:
    """A pipeline's gate blocks (strong), or only tells (weak), where a test is bad, whatever the test's severity."""

    pipeline: str
    dataset: str
    test: str  # its name, of a standard test too
    gate: StrengthName
    place: str = field(default="", compare=False)  # where it is told, ``file:line``


@dataclass(frozen=True, kw_only=True)
class CatalogProfile:
    """All that one provider says."""

    datasets: tuple[DatasetProfile, ...] = ()
    lineage: tuple[LineageProfile, ...] = ()
    custom: tuple[CustomProfile, ...] = ()
    templates: tuple[TemplateProfile, ...] = ()
    bindings: tuple[BindingProfile, ...] = ()
    business_metrics: tuple[DatasetProfile, ...] = ()  # as they are written: home and partitions follow from sources


# What a replica may be stored as, and the options that each storage takes.

LOGGED = ("iceberg", "delta")  # folders of which a log says what files, rows and columns count
PARQUET = ("parquet", *LOGGED)  # whose files are parquet
FILES = (*PARQUET, "orc", "csv", "json")  # folders of files

_TEXTS = ("encoding", "lineSep", "multiLine", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale", "mode")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "parquet": (),
    "iceberg": ("snapshot",),
    "delta": ("snapshot",),
    "orc": (),
    "csv": (
        *("header", "delimiter", "quote", "escape", "comment", "nullValue", "emptyValue", "nanValue"),
        *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", *_TEXTS),
    ),
    "json": ("allowComments", "allowSingleQuotes", "allowUnquotedFieldNames", *_TEXTS),
    "table": (),
    "sql": ("table", "schema"),
}
STORAGES = tuple(OPTIONS)
MODES = ("FAILFAST", "PERMISSIVE")


def check_options(storage: str, options: Mapping[str, str]) -> None:
    """Raise ValueError for the first option that the storage does not take, or not so."""
    names = OPTIONS[storage]
    for name, value in options.items():
        if name not in names:
            near = get_close_matches(name, names)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"{storage} takes no option {name!r}: {hint}known here: {', '.join(names) or 'none'}")
        if name == "mode" and value not in MODES:
            raise ValueError(f"mode is {value!r}: write {' or '.join(MODES)}")


# What stands between braces in the assertion of a template: a column, and parameters.
#
# All other braces are of the language (``{window.start:date}``) or of a pattern (``[0-9]{3}``, ``\p{Lu}``), and stay.

COLUMN = "column"
NAME = r"[a-z][a-z0-9_]{0,39}"
_PLACEHOLDER = re.compile(rf"(?<!\\[pP])\{{({NAME})\}}", re.ASCII)


def placeholders(assertion: str) -> tuple[str, ...]:
    """The names that stand between braces alone, each once, in their order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(assertion)))


def filled(assertion: str, values: Mapping[str, str]) -> str:
    """The assertion with a value in place of each name that has one."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), assertion)
