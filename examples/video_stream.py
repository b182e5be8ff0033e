"""Listing 1 of Schelter et al., "Automating Large-Scale Data Quality Verification" (PVLDB 2018), in our API.

Logs of a video platform are checked before they are ingested: ``python examples/video_stream.py``. The data is made
here, with ten rows that repeat a key and every sixth priority spelt in a way that is not allowed.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.verification import (
    SIZE,
    Check,
    Histogram,
    InMemoryRepository,
    Level,
    OnlineNormal,
    ResultKey,
    StoredMetrics,
    VerificationResult,
    VerificationSuite,
    at_least,
    at_most,
)

ROWS = 3000
DAY = datetime(2026, 3, 10, tzinfo=UTC)
CITIES = (("DE", "10115", "Berlin"), ("DE", "80331", "Munich"), ("FR", "75001", "Paris"), ("IT", "00118", "Rome"))
DEVICES = ("phone", "tv", "laptop", "tv")
PRIORITIES = ("hi", "lo", "hi", "lo", "hi", "medium")


def number_of_titles() -> int:
    """What a service that knows all titles would answer."""
    return 120


def most_phones(histogram: Histogram) -> bool:
    """Whether the share of phones is what was expected."""
    return histogram.ratio("phone") <= 0.3


def logs() -> pa.Table:
    """One day of logs."""
    return pa.Table.from_pylist([_log(at if at >= 5 else at + 6) for at in range(ROWS)])


def _log(at: int) -> dict[str, object]:
    country, zip_code, city = CITIES[at % len(CITIES)]
    start = DAY + timedelta(seconds=at)
    return {
        "customerId": at,
        "title": f"title {at % 100}",
        "impressionStart": start,
        "impressionEnd": start + timedelta(minutes=1 + at % 90),
        "deviceType": DEVICES[at % len(DEVICES)],
        "priority": PRIORITIES[at % len(PRIORITIES)],
        "count": at % 7,
        "countryResidence": country,
        "zipCode": zip_code,
        "cityResidence": city,
    }


def checks() -> tuple[Check, ...]:
    """The checks of the listing, in its order."""
    title_count = at_most(number_of_titles())
    return (
        Check(Level.ERROR, "integrity")
        .is_complete("customerId", "title", "impressionStart", "impressionEnd", "deviceType", "priority")
        .is_unique("customerId", "countryResidence", "deviceType", "title")
        .has_count_distinct("title", title_count)
        .has_histogram_values("deviceType", most_phones),
        Check(Level.ERROR, "shape")
        .is_non_negative("count")
        .is_less_than("impressionStart", "impressionEnd")
        .is_in_range("priority", ("hi", "lo")),
        Check(Level.WARNING, "size").has_no_anomalies(SIZE, OnlineNormal(std_devs=3)),
        Check(Level.ERROR, "size").has_no_anomalies(SIZE, OnlineNormal(std_devs=4)),
        Check(Level.WARNING, "residence").has_predictability(
            "countryResidence", ("zipCode", "cityResidence"), at_least(0.99), score="precision"
        ),
    )


def earlier_sizes() -> InMemoryRepository:
    """The sizes of two weeks before: 2,900 ± 30, so that 3,000 is more than three deviations away, but not four."""
    repository = InMemoryRepository()
    for back in range(1, 15):
        size = 2900.0 + (30 if back % 2 else -30)
        key = ResultKey.of(DAY - timedelta(days=back))
        repository.save(StoredMetrics(key=key, values={SIZE.text: size}))
    return repository


def verify(suite: VerificationSuite, folder: Path) -> VerificationResult:
    """The result of all checks over the logs, written into the folder."""
    pq.write_table(logs(), folder / "logs.parquet")
    run = suite.on(folder, "logs").add_check(*checks()).use_repository(earlier_sizes(), ResultKey.of(DAY))
    return run.run()


def main() -> None:
    """Print the results as the paper's Listing 2 does."""
    with TemporaryDirectory() as folder:
        result = verify(VerificationSuite(), Path(folder))
    print(result)
    print(result.status)


if __name__ == "__main__":
    main()
