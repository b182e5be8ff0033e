"""The table of tiers, in code and in the docs."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import get_args

from assay.catalog.tiers import TIERS, CatchUp, Severity, Tier

DOCS = Path(__file__).parents[3] / "docs" / "standard-tests.md"


def documented(tier: Tier) -> str:
    hours = [f"{length / timedelta(hours=1):g} h" for length in (tier.freshness, tier.sustain)]
    grace = f"{tier.grace / timedelta(minutes=1):g} min"
    shares = [f"{share:g}" for share in (tier.completeness, tier.duplicates, tier.consistency)]
    policy = "closed" if tier.fail_closed else "open"
    cells = [str(tier.level), hours[0], *shares, hours[1], grace]
    cells += [tier.severity, tier.catch_up, f"{tier.coverage:.0%}", policy, "on" if tier.novelty else "off"]
    return "| " + " | ".join(cells) + " |"


def test_the_docs_show_the_table_that_the_code_uses() -> None:
    rows = [line for line in DOCS.read_text().splitlines() if line[:3] in [f"| {n}" for n in range(6)]]
    assert rows == [documented(tier) for tier in TIERS]


def test_a_test_blocks_or_only_tells_and_what_an_outage_swallowed_is_run_in_one_of_three_ways() -> None:
    assert get_args(Severity) == ("hard", "soft")
    assert get_args(CatchUp) == ("latest", "all", "none")
    assert {tier.severity for tier in TIERS} <= set(get_args(Severity))
    assert {tier.catch_up for tier in TIERS} <= set(get_args(CatchUp))


def test_a_tier_stands_at_its_own_level() -> None:
    assert [tier.level for tier in TIERS] == [0, 1, 2, 3, 4, 5]


def test_no_tier_promises_more_than_the_one_above_it() -> None:
    for above, below in pairwise(TIERS):
        assert (above.freshness, above.sustain, above.grace) <= (below.freshness, below.sustain, below.grace)
        assert above.completeness >= below.completeness
        assert above.consistency >= below.consistency
        assert above.duplicates <= below.duplicates
        assert above.coverage >= below.coverage


def test_the_three_upper_tiers_block_and_the_two_upper_ones_are_covered_wholly() -> None:
    assert [tier.level for tier in TIERS if tier.severity == "hard"] == [0, 1, 2]
    assert [tier.level for tier in TIERS if tier.coverage == 1 and tier.fail_closed] == [0, 1]
