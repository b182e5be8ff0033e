"""What is tested, and who would hear of it: the coverage of tests and of reachable owners, by tier."""

from collections import Counter
from datetime import datetime
from functools import cache

from django.db.models import Count, QuerySet

from assay.models import Dataset, DataTest, Origin
from test_generator.coverage import DatasetCoverage, TierCoverage, coverage
from test_generator.models import Gap

from .channels import is_reachable
from .models import Waiver


def coverage_by_tier(*, now: datetime, owner: str | None = None, team: str | None = None) -> tuple[TierCoverage, ...]:
    """The coverage of every tier, of all datasets, or of one owner's or team's."""
    datasets = Dataset.objects.filter(missing_since__isnull=True)
    waivers = Waiver.objects.filter(ends_at__gt=now, ended_at__isnull=True)
    whose = {name: value for name, value in (("owner", owner), ("team", team)) if value is not None}
    own = {f"dataset__{name}": value for name, value in whose.items()}
    tests = DataTest.objects.filter(origin=Origin.GENERATED, retired_at__isnull=True, **own)
    live, waived = _many_by_dataset(tests), _many_by_dataset(tests.filter(pk__in=waivers.values("data_test")))
    gaps = Counter(Gap.objects.filter(closed_at__isnull=True, mendable=True, **own).values_list("dataset", flat=True))
    reachable = cache(is_reachable)
    rows = datasets.filter(**whose).values_list("pk", "full_name", "tier", "owner", "team")
    return coverage(
        [
            DatasetCoverage(
                dataset=name,
                tier=tier,
                live=live[pk] - waived[pk],
                wanted=live[pk] or int(not gaps[pk]),  # without a test or a reason, one is missing
                gaps=gaps[pk],
                owner=owner,
                is_reachable=reachable(owner, team),
            )
            for pk, name, tier, owner, team in rows
        ]
    )


def _many_by_dataset(tests: QuerySet[DataTest]) -> Counter[int]:
    """How many of these tests each dataset has; the database counts them."""
    return Counter(dict(tests.order_by().values_list("dataset").annotate(many=Count("pk"))))
