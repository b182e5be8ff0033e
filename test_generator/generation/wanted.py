"""What generation yields: the tests a dataset should have, and the gaps where one cannot be written."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from assay.catalog.tiers import CatchUp, Severity

StandardCategory = Literal["freshness", "completeness", "duplicates", "consistency", "schema"]
Scope = Literal["partition", "table"]


@dataclass(frozen=True, kw_only=True)
class WantedTest:
    """One standard test. Its name is its identity within the dataset; all else may change with the metadata."""

    name: str
    category: StandardCategory
    assertion: str
    datacenter: str  # where it runs
    spoils: str | None  # the datacenter in which what it finds missing is spoilt; None: where it runs
    scope: Scope
    severity: Severity
    catch_up: CatchUp
    sustain: timedelta
    schedule: str  # "partition", or "weekly" for the whole table
    zero_policy: str = "standard"  # 0/0 is "no data", x/0 broken
    declared: str = ""  # a print of the declared columns that it holds the data to; empty: of none


@dataclass(frozen=True, kw_only=True)
class WantedGap:
    """A standard test that cannot be written, with the reason as a sentence for the owner.

    ``mendable``: metadata would mend it, so it counts against coverage; the others are only shown.
    """

    dataset: str
    category: StandardCategory
    reason: str
    mendable: bool = True


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Everything that the metadata of one dataset leads to."""

    wanted: tuple[WantedTest, ...] = ()
    gaps: tuple[WantedGap, ...] = ()

    def __add__(self, other: "Generation") -> "Generation":
        return Generation(wanted=self.wanted + other.wanted, gaps=self.gaps + other.gaps)
