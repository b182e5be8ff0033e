"""The shape of a catalog file, part by part; what parts say of each other is checked in ``profiles``."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic import Tag as Choice

from assay.access import wrong_readers
from assay.catalog.column_types import is_column_type
from assay.catalog.locations import PREFIX
from assay.catalog.profile import (
    MOST_DAYS,
    MOST_ROWS,
    NAME,
    STORE_PATH,
    CategoryName,
    ChannelName,
    GateOn,
    KindName,
    RowsTarget,
    SensitiveName,
    Storage,
    StrengthName,
    UnknownPolicy,
    check_options,
)
from assay.catalog.tiers import CatchUp, Severity
from assay.edge.control_characters import name_fault
from assay.time.durations import parse_duration
from assay.time.stored_times import Holds
from assay.time.windows import Granularity, Partitioning, zone

_CRON = re.compile(r"\S+( \S+){4}")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%", re.ASCII)


def _duration(value: object) -> timedelta:
    if not isinstance(value, str):
        raise ValueError("write a number and s, m, h, d or w, such as 4h")
    return parse_duration(value)


def _share(value: object) -> object:
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return float(percent[1]) / 100 if percent else value


def _schedule(value: str) -> str:
    if value not in ("partition", "weekly") and not _CRON.fullmatch(value):
        raise ValueError("write 'partition', 'weekly', or a cron line of five fields such as '0 6 * * *'")
    return value


def _not_repeated(values: list[Any]) -> list[Any]:
    if repeated := sorted({str(value) for value in values if values.count(value) > 1}):
        raise ValueError(f"{', '.join(repeated)} is named more than once: keep one")
    return values


def _name(value: str) -> str:
    if fault := name_fault(value):
        raise ValueError(fault)
    return value


_NAMED = AfterValidator(_name)
Name = Annotated[str, _NAMED]
Word = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^\S(.*\S)?$"), _NAMED]
# a space may stand at its end
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"\S"), _NAMED]
FullName = Annotated[str, StringConstraints(max_length=240, pattern=r"^[A-Za-z0-9_][\w:/@-]*(\.[\w:/@-]+)+$")]
Place = Annotated[str, StringConstraints(max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Length = Annotated[timedelta, BeforeValidator(_duration), Field(gt=timedelta(0))]
Period = Annotated[timedelta, BeforeValidator(_duration)]
Share = Annotated[float, BeforeValidator(_share), Field(ge=0, le=1, allow_inf_nan=False)]
Tag = Annotated[str, StringConstraints(max_length=40, pattern=r"^[a-z0-9][a-z0-9_.:-]*$")]
Tags = Annotated[list[Tag], AfterValidator(_not_repeated)]
Level = Annotated[int, Field(ge=0, le=5)]
ChannelAddress = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$"), _NAMED]
ParameterName = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]


class YamlPart(BaseModel):
    """A mapping of known keys, whose values must already have their types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PartitionPart(YamlPart):
    """How a dataset is cut into partitions."""

    column: Word
    granularity: Annotated[Granularity, Field(strict=False)]
    holds: Annotated[Holds, Field(strict=False)] = Holds.KEY
    stored_time_zone: Name = "UTC"
    time_zone: Name = "UTC"
    key_format: Name = ""
    first: Name | None = None

    @model_validator(mode="after")
    def _names_partitions(self) -> "PartitionPart":
        partitioning = Partitioning(granularity=self.granularity, time_zone=self.time_zone, key_format=self.key_format)
        if self.first is not None:
            partitioning.window(self.first).taken()
        zone(self.stored_time_zone)
        if self.stored_time_zone != "UTC" and self.holds is not Holds.TIME:
            raise ValueError("stored_time_zone is the zone of times: write holds: time beside it, or leave it out")
        return self


class ReplicaPart(YamlPart):
    """Where a copy of a dataset lies."""

    datacenter: Place
    storage: Storage
    location: Annotated[str, StringConstraints(min_length=1, max_length=500), _NAMED]
    options: dict[str, str] = {}

    @model_validator(mode="after")
    def _can_be_read(self) -> "ReplicaPart":
        if self.storage == "sql":
            if not self.location.startswith(PREFIX):
                from sqlalchemy.engine import make_url  # large, and needed by few of those who import this
                from sqlalchemy.exc import ArgumentError

                try:
                    url = make_url(self.location)
                except (ArgumentError, ValueError):
                    raise ValueError(
                        "a sql location is an SQLAlchemy URL such as sqlite:////data/x.db, or env:NAME"
                    ) from None
                if url.password:
                    raise ValueError(
                        "the location holds a password: put the URL in the environment and write env:NAME here"
                    )
            if not self.options.get("table"):
                raise ValueError("a sql replica needs the name of its table: add options: {table: …}")
        check_options(self.storage, self.options)
        return self


class SlaPart(YamlPart):
    """What a dataset promises beyond its tier."""

    freshness: Length | None = None
    completeness: Annotated[Share, Field(gt=0)] | None = None
    duplicates: Annotated[Share, Field(lt=1)] | None = None
    consistency: Annotated[Share, Field(gt=0)] | None = None
    unpartitioned: Share | None = None


def _column_type(value: str) -> str:
    if not is_column_type(value):
        raise ValueError("write a type, such as bigint, decimal(10,2) or array<string>")
    return value


ColumnType = Annotated[Word, AfterValidator(_column_type)]


class ColumnPart(YamlPart):
    """A column of which more is said than its type."""

    type: ColumnType
    sensitive: bool = False


TypeOrColumn = Annotated[
    Annotated[ColumnType, Choice("type")] | Annotated[ColumnPart, Choice("column")],
    Discriminator(lambda value: "column" if isinstance(value, dict | ColumnPart) else "type"),
]


def _check_readers(readers: list[str]) -> list[str]:
    if wrong := wrong_readers(readers):
        raise ValueError(f"{', '.join(wrong)}: write role:operator, team:NAME or user:NAME")
    return _not_repeated(readers)


class DatasetPart(YamlPart):
    """One dataset."""

    name: FullName
    owner: Word
    tier: Level
    replicas: Annotated[list[ReplicaPart], Field(min_length=1)]
    description: str = ""
    team: Annotated[str, StringConstraints(max_length=200), _NAMED] = ""
    channels: dict[ChannelName, ChannelAddress] = {}
    columns: dict[ColumnName, TypeOrColumn] = {}
    primary_key: Annotated[list[ColumnName], AfterValidator(_not_repeated)] = []
    partition: PartitionPart | None = None
    slas: SlaPart = SlaPart()
    sustain: Period | None = None
    grace: Period | None = None
    severity: Severity | None = None
    catch_up: CatchUp | None = None
    allow_empty: bool = False
    novelty: bool | None = None
    inferred_schema: bool = False
    retention: Length | None = None
    gate_on: GateOn = "outcome"
    unknown_policy: UnknownPolicy | None = None
    readers: Annotated[list[Word], AfterValidator(_check_readers)] = []
    tags: Tags = []


class ServedPart(YamlPart):
    """A table that serves a business metric by one of its dimensions."""

    dataset: FullName
    column: ColumnName
    dimension: ColumnName


class BusinessMetricPart(YamlPart):
    """One business metric: a figure that is computed from datasets."""

    name: FullName
    owner: Word
    tier: Level
    expression: Annotated[str, StringConstraints(min_length=1, max_length=2048)]
    sources: Annotated[list[FullName], Field(min_length=1, max_length=20), AfterValidator(_not_repeated)]
    description: str = ""
    team: Annotated[str, StringConstraints(max_length=200), _NAMED] = ""
    channels: dict[ChannelName, ChannelAddress] = {}
    dimensions: Annotated[list[ColumnName], Field(max_length=20), AfterValidator(_not_repeated)] = []
    served: Annotated[list[ServedPart], Field(max_length=20)] = []
    band: dict[ParameterName, str | float | int] = {}
    tolerance: Annotated[Share, Field(gt=0, lt=1)] = 0.001
    freshness: Length | None = None
    sustain: Period | None = None
    grace: Period | None = None
    severity: Severity | None = None
    catch_up: CatchUp | None = None
    gate_on: GateOn = "outcome"
    unknown_policy: UnknownPolicy | None = None
    readers: Annotated[list[Word], AfterValidator(_check_readers)] = []
    tags: Tags = []


class LineagePart(YamlPart):
    """One edge of the lineage."""

    upstream: FullName
    downstream: FullName
    one_to_one: bool = False
    sampled: bool = False
    keys: dict[ColumnName, ColumnName] = {}


class KeepRowsPart(YamlPart):
    """Where the failing rows of a test are kept."""

    table: Annotated[str, StringConstraints(max_length=300, pattern=STORE_PATH)]
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = RowsTarget.limit
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = RowsTarget.days
    sensitive: SensitiveName = RowsTarget.sensitive


class CustomPart(YamlPart):
    """One test that a user wrote."""

    dataset: FullName
    name: Word
    assertion: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    severity: Severity | None = None
    schedule: Annotated[str, AfterValidator(_schedule)] | None = None
    sustain: Period | None = None
    catch_up: CatchUp | None = None
    category: CategoryName = "custom"
    keep_rows: KeepRowsPart | None = None


class ColumnSelectorPart(YamlPart):
    """Which columns of a dataset a template is applied to."""

    names: Annotated[list[ColumnName], AfterValidator(_not_repeated)] = []
    kinds: Annotated[list[KindName], AfterValidator(_not_repeated)] = []


class SelectorPart(YamlPart):
    """Which datasets, and which of their columns, a template is applied to."""

    tiers: Annotated[list[Level], AfterValidator(_not_repeated)] = []
    tags: Tags = []
    names: Annotated[list[Word], AfterValidator(_not_repeated)] = []
    excluded: Annotated[list[Word], Field(alias="except"), AfterValidator(_not_repeated)] = []
    owners: Annotated[list[Word], AfterValidator(_not_repeated)] = []
    columns: ColumnSelectorPart | None = None

    @model_validator(mode="after")
    def _selects(self) -> "SelectorPart":
        if not (self.tiers or self.tags or self.names or self.owners or self.columns):
            raise ValueError("write tiers, tags, names, owners or columns; names: ['*'] selects every dataset")
        return self


ParameterValue = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value),
    StringConstraints(min_length=1, max_length=400),
]
Parameters = dict[ParameterName, ParameterValue]


class TemplatePart(YamlPart):
    """One rule that makes a test of each dataset, or column, that its selector names."""

    name: Word
    assertion: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    selector: SelectorPart
    parameters: Parameters = {}
    overrides: dict[FullName, Parameters] = {}
    severity: Severity | None = None
    schedule: Annotated[str, AfterValidator(_schedule)] | None = None
    sustain: Period | None = None
    catch_up: CatchUp | None = None
    category: CategoryName = "custom"
    keep_rows: KeepRowsPart | None = None
    needs: Annotated[str, StringConstraints(max_length=400)] = ""
    example: Annotated[str, StringConstraints(max_length=400)] = ""


class BindingPart(YamlPart):
    """What a pipeline's gate does where a test is bad."""

    pipeline: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$"), _NAMED]
    dataset: FullName
    test: Annotated[str, StringConstraints(min_length=1, max_length=300), _NAMED]
    gate: StrengthName


PARTS: dict[str, type[YamlPart]] = {
    "datasets": DatasetPart,
    "lineage": LineagePart,
    "tests": CustomPart,
    "templates": TemplatePart,
    "bindings": BindingPart,
    "business_metrics": BusinessMetricPart,
}
