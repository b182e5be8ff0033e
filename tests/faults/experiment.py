"""What an experiment is: a fault, how it is staged, and what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.scene import Scene

Violations = Mapping[str, list[str]]  # by invariant; an empty list says that it was looked at, and held
Figure = tuple[str, str]
STAGED = "staged"  # beside the invariants: whether the fault came at all, and came where it was to


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large the experiments are: ``share`` of the full size, or the quick size."""

    is_quick: bool = False
    share: float = 1.0

    @property
    def name(self) -> str:
        """What is printed beside the figures."""
        return "quick" if self.is_quick else "full" if self.share == 1 else f"{self.share:g} of full"

    def of(self, full: int, *, quick: int) -> int:
        """A count at this scale, never below the quick one."""
        return quick if self.is_quick else max(quick, round(full * self.share))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one experiment found."""

    violations: Violations
    figures: list[Figure] = field(default_factory=list)

    @property
    def has_held(self) -> bool:
        """Whether no invariant was violated."""
        return not any(self.violations.values())

    def also(self, violations: Violations) -> "Finding":
        """This finding, and what else was looked at."""
        return Finding(violations={**self.violations, **violations}, figures=self.figures)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One fault; ``run`` gets a service of its own, or in the quick subset one that it shares."""

    number: int
    title: str
    run: "Callable[[Scene, Scale], Finding]"
    minutes: float  # of the full scale, on two quiet cores
    is_quick: bool = False  # whether it belongs to the short subset
    tables: int = 100  # of the full scale
    tests: int = 3  # of each table, beside its freshness
    tests_quick: int = 3  # of the quick scale


@dataclass(frozen=True, kw_only=True)
class Alone:
    """A fault that needs no service."""

    number: int
    title: str
    run: Callable[[Scale], Finding]
    minutes: float
    is_quick: bool = False
