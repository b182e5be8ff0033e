"""What a revision of a data test holds, and the tests and gaps that a dataset should have (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, Literal, Self

from assay.catalog.profile import CategoryName, RowsTarget, Targets

Scope = Literal["partition", "table"]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An assertion, and how it is asked and judged. Two revisions are the same if their definitions are."""

    assertion: str
    severity: str
    schedule: str  # "partition", "weekly", or a cron line in the dataset's zone
    sustain: timedelta
    catch_up: str
    declared: str = ""  # a print of the declared columns that it holds data to; empty: of none
    keep_rows: Mapping[str, Any] = field(default_factory=dict, hash=False)  # a ``RowsTarget``; empty: nowhere

    @classmethod
    def by(
        cls,
        targets: Targets,
        *,
        assertion: str,
        schedule: str,
        severity: str | None = None,
        sustain: timedelta | None = None,
        catch_up: str | None = None,
        keep_rows: RowsTarget | None = None,
    ) -> Self:
        """What a test says, and for what it leaves open what its dataset is held to."""
        return cls(
            assertion=assertion,
            severity=severity or targets.severity,
            schedule=schedule,
            sustain=targets.sustain if sustain is None else sustain,
            catch_up=catch_up or targets.catch_up,
            keep_rows=keep_rows.to_json() if keep_rows else {},
        )

    @classmethod
    def of(cls, revision: Any) -> Self:
        """That of a revision, whose columns bear the same names."""
        return cls(**{member.name: getattr(revision, member.name) for member in fields(cls)})

    @property
    def as_written(self) -> Self:
        """What people write of it: without what is known of the dataset."""
        return replace(self, declared="")

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a revision that holds it."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class DataTestSpec:
    """A test that metadata or a template leads to. Its name is its identity within the dataset."""

    name: str
    category: CategoryName
    definition: Definition
    datacenter: str  # where it runs
    spoils: str = ""  # the datacenter in which what it finds missing is spoilt; empty: where it runs
    scope: Scope
    template: str = ""  # that makes it; empty: a standard test


@dataclass(frozen=True, kw_only=True)
class GapSpec:
    """A test that cannot be written, with the reason as a sentence for the owner.

    ``mendable``: metadata would mend it, so it counts against coverage; the others are only shown.
    """

    dataset: str
    category: CategoryName
    reason: str
    mendable: bool = True
    template: str = ""  # empty: a standard test


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Everything that metadata, or templates, lead to on one dataset."""

    tests: tuple[DataTestSpec, ...] = ()
    gaps: tuple[GapSpec, ...] = ()

    @classmethod
    def of(cls, results: Iterable[DataTestSpec | GapSpec]) -> Self:
        """Tests and gaps, each in their order."""
        every = tuple(results)
        return cls(
            tests=tuple(result for result in every if isinstance(result, DataTestSpec)),
            gaps=tuple(result for result in every if isinstance(result, GapSpec)),
        )
