"""How much of what should be tested is, and who would hear of it: tests and reachable owners of each tier."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.catalog.tiers import TIERS


@dataclass(frozen=True, kw_only=True)
class DatasetCoverage:
    """One dataset's count of tests: those that can be written, the live ones among them, and the gaps."""

    dataset: str
    tier: int
    live: int
    test_count: int
    gaps: int  # standard tests that its metadata does not let us write
    owner: str
    is_reachable: bool  # whether any channel but the log reaches the owner


@dataclass(frozen=True, kw_only=True)
class TierCoverage:
    """One tier's coverage; ``share`` is from 0 to 1, or None where there is nothing to test."""

    tier: int
    datasets: int
    live: int
    wanted: int
    gaps: int
    target: float
    uncovered: tuple[str, ...]  # the datasets that lack a test, by name
    reachable: int  # datasets whose owner can be told
    unreachable: tuple[str, ...]  # the owners who cannot, by name

    @property
    def share(self) -> float | None:
        """Tests live / (tests wanted + gaps)."""
        whole = self.wanted + self.gaps
        return self.live / whole if whole else None

    @property
    def reachable_share(self) -> float | None:
        """Datasets whose owner can be told / datasets."""
        return self.reachable / self.datasets if self.datasets else None

    @property
    def is_met(self) -> bool:
        """Whether the tier reaches its target, with its tests and with its owners."""
        return all(share is None or share >= self.target for share in (self.share, self.reachable_share))


def coverage(datasets: Iterable[DatasetCoverage]) -> tuple[TierCoverage, ...]:
    """The coverage of every tier from 0 to 5, those without datasets included."""
    by_tier: dict[int, list[DatasetCoverage]] = {tier.level: [] for tier in TIERS}
    for dataset in datasets:
        by_tier[dataset.tier].append(dataset)
    return tuple(
        TierCoverage(
            tier=level,
            datasets=len(rows),
            live=sum(row.live for row in rows),
            wanted=sum(row.test_count for row in rows),
            gaps=sum(row.gaps for row in rows),
            target=TIERS[level].coverage,
            uncovered=tuple(sorted(row.dataset for row in rows if row.live < row.test_count + row.gaps)),
            reachable=sum(row.is_reachable for row in rows),
            unreachable=tuple(sorted({row.owner for row in rows if not row.is_reachable})),
        )
        for level, rows in by_tier.items()
    )
