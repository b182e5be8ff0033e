"""What comes first, and bounds on what runs at once."""

from assay.catalog.tiers import TIERS
from execution_engine.planning.schedules import at_bound, is_made_up_for, turn

BOUNDS = {"dataset_id": 2, "owner": 3, "engine": 0}


def running(*scans: tuple[int, str], datacenter: str = "sea") -> list[dict[str, object]]:
    return [
        {"datacenter": datacenter, "dataset_id": dataset, "owner": owner, "engine": "spark"} for dataset, owner in scans
    ]


def test_nothing_is_full_where_nothing_runs() -> None:
    assert at_bound([], BOUNDS) == []


def test_a_dataset_with_two_scans_begins_no_third() -> None:
    found = at_bound(running((1, "ada"), (1, "ada"), (2, "bob")), BOUNDS)
    assert found == [("sea", "dataset_id", 1)]


def test_an_owner_is_bounded_over_all_datasets() -> None:
    found = at_bound(running((1, "ada"), (2, "ada"), (3, "ada"), (4, "bob")), BOUNDS)
    assert found == [("sea", "owner", "ada")]


def test_datacenters_are_bounded_apart() -> None:
    assert at_bound(running((1, "ada")) + running((1, "ada"), datacenter="phx"), BOUNDS) == []


def test_a_bound_of_zero_bounds_nothing() -> None:
    assert at_bound(running(*((each, f"owner {each}") for each in range(100))), BOUNDS) == []


def test_what_is_made_up_for_comes_after_all_that_is_current_and_by_tier_too() -> None:
    current = [turn(tier.level) for tier in TIERS]
    made_up_for = [turn(tier.level, is_made_up_for=True) for tier in TIERS]
    assert [*current, *made_up_for] == sorted({*current, *made_up_for})
    assert not any(map(is_made_up_for, current))
    assert all(map(is_made_up_for, made_up_for))
