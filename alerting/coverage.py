"""What is tested, and who would hear of it: the coverage of tests and of reachable owners, by tier."""

from collections import Counter
from datetime import datetime
from functools import cache

from django.db.models import Exists, OuterRef

from assay.models import Dataset, DataTest, Origin
from test_generator.coverage import DatasetCoverage, TierCoverage, coverage
from test_generator.models import Gap

from .channels import is_reachable
from .models import Waiver


def coverage_by_tier(*, now: datetime, owner: str | None = None, team: str | None = None) -> tuple[TierCoverage, ...]:
    """The coverage of every tier, of all datasets, or of one owner's or team's."""
    datasets = Dataset.objects.filter(missing_since__isnull=True)
    waivers = Waiver.objects.filter(data_test=OuterRef("pk"), ends_at__gt=now, ended_at__isnull=True)
    whose = {name: value for name, value in (("owner", owner), ("team", team)) if value is not None}
    own = {f"dataset__{name}": value for name, value in whose.items()}
    tests = DataTest.objects.filter(origin=Origin.GENERATED, retired_at__isnull=True, **own)
    rows = list(tests.annotate(waived=Exists(waivers)).values_list("dataset", "waived"))
    live, waived = Counter(pk for pk, _ in rows), Counter(pk for pk, waived in rows if waived)
    gaps = Counter(Gap.objects.filter(closed_at__isnull=True, mendable=True, **own).values_list("dataset", flat=True))
    reachable = cache(is_reachable)
    return coverage(
        [
            DatasetCoverage(
                dataset=dataset.full_name,
                tier=dataset.tier,
                live=live[dataset.pk] - waived[dataset.pk],
                wanted=live[dataset.pk] or int(not gaps[dataset.pk]),  # without a test or a reason, one is missing
                gaps=gaps[dataset.pk],
                owner=dataset.owner,
                is_reachable=reachable(dataset.owner, dataset.team),
            )
            for dataset in datasets.filter(**whose)
        ]
    )
