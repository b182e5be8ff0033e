"""What generation yields: the tests a dataset should have, and the gaps where one cannot be written."""

from dataclasses import dataclass
from typing import Literal

from assay.catalog.profile import CategoryName
from test_generator.definition import Definition

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
