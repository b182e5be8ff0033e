"""A large company in an empty database: 2,000 datasets of all tiers, each in two datacenters, with nine tests each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from assay.database.name_keys import name_key
from assay.models import CatchUp, Category, Dataset, DataTest, Origin, Replica, Revision, Severity
from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_json

DATACENTERS = ("sea", "phx")
STANDARD = (Category.FRESHNESS, Category.COMPLETENESS, Category.DUPLICATES, Category.CONSISTENCY)
CATEGORIES = (*STANDARD, *[Category.CUSTOM] * 5)  # of a dataset's tests, in the order of their ids
ASSERTION = "completeness(email) >= 0.99"
BATCH = 2000


@dataclass(frozen=True, kw_only=True)
class Company:
    """How many datasets there are; the ids of everything follow from it, the first being 1."""

    datasets: int = 2000

    @property
    def data_tests(self) -> int:
        """How many tests there are; the one with id ``n`` belongs to dataset ``(n - 1) // 9 + 1``."""
        return self.datasets * len(CATEGORIES)


@transaction.atomic
def load_company(company: Company, now: datetime) -> None:
    """Write datasets, replicas, tests and revisions; needs empty tables."""
    founded = now - timedelta(days=1000)
    numbers = range(1, company.datasets + 1)
    Dataset.objects.bulk_create([_dataset(number, founded) for number in numbers], batch_size=BATCH)
    Replica.objects.bulk_create([row for number in numbers for row in _replicas(number)], batch_size=BATCH)
    today = Partitioning(granularity=Granularity.DAY).at(now)
    tests = [_data_test(number, founded, today) for number in range(1, company.data_tests + 1)]
    DataTest.objects.bulk_create(tests, batch_size=BATCH)
    Revision.objects.bulk_create(_revisions(tests, founded), batch_size=BATCH)
    DataTest.objects.update(revision=F("pk"))  # a test's revision bears its id


def _dataset(number: int, founded: datetime) -> Dataset:
    return Dataset(
        pk=number,
        namespace="lake",
        name=f"table_{number:04}",
        full_name=f"lake.table_{number:04}",
        name_key=name_key(f"lake.table_{number:04}"),
        owner=f"owner_{number % 200}",
        team=f"team_{number % 40}",
        tier=number % 6,
        columns=[{"name": "id", "type": "bigint"}, {"name": "email", "type": "string"}],
        primary_key=["id"],
        partition_column="datestr",
        granularity=Granularity.DAY.value,
        created_at=founded,
        changed_at=founded,
    )


def _replicas(number: int) -> list[Replica]:
    return [
        Replica(dataset_id=number, datacenter=name, position=at, storage="parquet", location=f"/lake/{name}/{number}")
        for at, name in enumerate(DATACENTERS)
    ]


def _data_test(number: int, founded: datetime, coming: Window) -> DataTest:
    """One that the schedule has brought as far as ``coming``, the window that is due next."""
    at = (number - 1) % len(CATEGORIES)
    return DataTest(
        pk=number,
        dataset_id=(number - 1) // len(CATEGORIES) + 1,
        name=f"{CATEGORIES[at]}-{at}",
        category=CATEGORIES[at],
        origin=Origin.GENERATED if at < len(STANDARD) else Origin.USER,
        datacenter=DATACENTERS[0],
        created_at=founded,
        next_window_start=coming.start,
        next_window_end=coming.end,
        next_due_at=coming.end + timedelta(hours=6),
    )


def _revisions(tests: Sequence[DataTest], founded: datetime) -> list[Revision]:
    tree = to_json(parse(ASSERTION))
    return [
        Revision(
            pk=test.pk,
            data_test_id=test.pk,
            number=1,
            assertion=ASSERTION,
            tree=tree,
            severity=Severity.HARD,
            schedule="partition",
            sustain=timedelta(hours=4),
            catch_up=CatchUp.ALL,
            created_at=founded,
            rejudged_at=founded,
        )
        for test in tests
    ]
