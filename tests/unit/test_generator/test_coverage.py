"""How much of what should be tested is."""

from test_generator.coverage import DatasetCoverage, TierCoverage, coverage


def counted(
    name: str, tier: int, live: int, wanted: int, gaps: int = 0, owner: str = "ada", *, is_reachable: bool = True
) -> DatasetCoverage:
    return DatasetCoverage(
        dataset=name, tier=tier, live=live, test_count=wanted, gaps=gaps, owner=owner, is_reachable=is_reachable
    )


def of_tier(level: int, *datasets: DatasetCoverage) -> TierCoverage:
    return coverage(datasets)[level]


def test_every_tier_is_listed() -> None:
    assert [each.tier for each in coverage([])] == [0, 1, 2, 3, 4, 5]


def test_coverage_is_the_live_share_of_wanted_tests_and_gaps() -> None:
    tier = of_tier(1, counted("a", 1, 6, 6), counted("b", 1, 2, 3, gaps=1), counted("c", 2, 0, 5))
    assert (tier.share, tier.datasets, tier.gaps) == (0.8, 2, 1)
    assert tier.uncovered == ("b",)


def test_one_gap_in_a_critical_tier_misses_its_target() -> None:
    assert not of_tier(0, counted("a", 0, 99, 99, gaps=1)).is_met
    assert of_tier(0, counted("a", 0, 99, 99)).is_met


def test_a_lower_tier_need_not_be_covered_wholly() -> None:
    assert of_tier(3, counted("a", 3, 8, 10)).is_met
    assert not of_tier(3, counted("a", 3, 7, 10)).is_met


def test_a_tier_with_nothing_to_test_has_no_share_and_misses_nothing() -> None:
    assert (of_tier(0).share, of_tier(0).is_met) == (None, True)


def test_a_tier_is_not_covered_by_tests_whose_owner_nobody_can_reach() -> None:
    told, untold = counted("raw.a", 0, 2, 2), counted("raw.b", 0, 2, 2, owner="bob", is_reachable=False)
    tier = of_tier(0, told, untold)
    assert (tier.share, tier.reachable_share, tier.unreachable) == (1.0, 0.5, ("bob",))
    assert not tier.is_met
    assert of_tier(0, told).is_met


def test_all_of_a_tier_is_counted() -> None:
    first = counted("raw.b", 2, 3, 4, gaps=2, owner="eve", is_reachable=False)
    second = counted("raw.a", 2, 1, 1, gaps=1, owner="bob", is_reachable=False)
    third = counted("raw.c", 2, 5, 5, owner="eve", is_reachable=False)
    assert of_tier(2, first, second, third, counted("raw.d", 2, 1, 1), counted("raw.e", 1, 9, 9)) == TierCoverage(
        tier=2,
        datasets=4,
        live=10,
        wanted=11,
        gaps=3,
        target=0.9,
        uncovered=("raw.a", "raw.b"),
        reachable=1,
        unreachable=("bob", "eve"),
    )


def test_a_tier_of_which_nothing_can_be_tested_is_measured_by_its_owners_alone() -> None:
    assert of_tier(0, counted("raw.a", 0, 0, 0)).is_met
    assert not of_tier(0, counted("raw.a", 0, 0, 0, is_reachable=False)).is_met
    assert of_tier(0, counted("raw.a", 0, 0, 0)).share is None
    assert of_tier(5, counted("raw.a", 5, 0, 9, is_reachable=False)).is_met
