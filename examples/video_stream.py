"""Listing 1 of Schelter et al., "Automating Large-Scale Data Quality Verification" (PVLDB 2018), in our API.

Logs of a video platform are checked before they are ingested: ``python examples/video_stream.py``. Two days are, one
after the other; each is read once, and its states are added to those of the days before. The data is made here: of
every 300 rows one repeats a key, and every sixth priority is spelt in a way that is not allowed.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.verification import (
    SIZE,
    Check,
    FolderOfStates,
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

DAY = datetime(2026, 3, 10, tzinfo=UTC)
ROWS = {DAY - timedelta(days=1): 2400, DAY: 3000}  # of each day
CITIES = (("DE", "10115", "Berlin"), ("DE", "80331", "Munich"), ("FR", "75001", "Paris"), ("IT", "00118", "Rome"))
DEVICES = ("phone", "tv", "laptop", "tv")
PRIORITIES = ("hi", "lo", "hi", "lo", "hi", "medium")


def number_of_titles() -> int:
    """What a service that knows all titles would answer."""
    return 120


def most_phones(histogram: Histogram) -> bool:
    """Whether the share of phones is what was expected."""
    return histogram.ratio("phone") <= 0.3


def logs(day: datetime) -> pa.Table:
    """One day of logs; its first rows are those of six rows later."""
    repeated = ROWS[day] // 600
    return pa.Table.from_pylist([_log(day, at + 6 if at < repeated else at) for at in range(ROWS[day])])


def _log(day: datetime, at: int) -> dict[str, object]:
    country, zip_code, city = CITIES[at % len(CITIES)]
    start = day + timedelta(seconds=at)
    return {
        "customerId": day.toordinal() * 100_000 + at,
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
    """The checks of the listing, in its order.

    Histograms and predictability do not add up over deltas, so they are asked of the delta.
    """
    title_count = at_most(number_of_titles())
    return (
        Check(Level.ERROR, "integrity")
        .is_complete("customerId", "title", "impressionStart", "impressionEnd", "deviceType", "priority")
        .is_unique("customerId", "countryResidence", "deviceType", "title")
        .has_count_distinct("title", title_count),
        Check(Level.ERROR, "devices", on="delta").has_histogram_values("deviceType", most_phones),
        Check(Level.ERROR, "shape")
        .is_non_negative("count")
        .is_less_than("impressionStart", "impressionEnd")
        .is_in_range("priority", ("hi", "lo")),
        Check(Level.WARNING, "size", on="delta").has_no_anomalies(SIZE, OnlineNormal(std_devs=3)),
        Check(Level.ERROR, "size", on="delta").has_no_anomalies(SIZE, OnlineNormal(std_devs=4)),
        Check(Level.WARNING, "residence", on="delta").has_predictability(
            "countryResidence", ("zipCode", "cityResidence"), at_least(0.99), score="precision"
        ),
    )


def earlier_sizes() -> InMemoryRepository:
    """The sizes of the deltas of two weeks: 2,400 ± 180, so that 3,000 is three deviations away, but not four."""
    repository = InMemoryRepository()
    for back in range(2, 14):
        size = 2400.0 + (180 if back % 2 else -180)
        key = ResultKey.of(DAY - timedelta(days=back))
        repository.save(StoredMetrics(key=key, values={f"{SIZE.text} on delta": size}))
    return repository


def verify(suite: VerificationSuite, folder: Path) -> VerificationResult:
    """The result of the last day, once those before are ingested; logs and states are written into the folder."""
    repository, states = earlier_sizes(), FolderOfStates(folder / "states")
    for day in ROWS:
        path, key = folder / f"{day:%Y-%m-%d}.parquet", ResultKey.of(day)
        pq.write_table(logs(day), path)
        run = suite.on(path, "logs").add_check(*checks())
        result = run.use_repository(repository, key).add_up(states, key).run()
    return result


def main() -> None:
    """Print the results as the paper's Listing 2 does."""
    with TemporaryDirectory() as folder:
        result = verify(VerificationSuite(), Path(folder))
    print(result)
    print(result.status)


if __name__ == "__main__":
    main()
