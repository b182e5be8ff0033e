"""``assay run``: the tests of a dataset over one partition, over a range of them, and over the last ones."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alerting.models import Standing
from assay import clock
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset
from tests.factories import HOUR, DatasetFactory, DataTestFactory, day
from tests.fixture_types import Capture
from tests.integration.commands.answers import ended
from tests.integration.story import due

pytestmark = pytest.mark.django_db(transaction=True)

MONDAY, DAYS = day("2026-03-09"), ("2026-03-07", "2026-03-08", "2026-03-09")


@pytest.fixture(autouse=True)
def lake(tmp_path: Path) -> None:
    """Three days of a table, whose middle one has too few rows."""
    clock.simulate(due(MONDAY) + HOUR)
    dataset = DatasetFactory.create(name="fares", columns=[{"name": "id", "type": "bigint"}])
    dataset.replicas.update(location=str(tmp_path))
    DataTestFactory.create(dataset=dataset, name="enough", assertion="row_count() >= 10", severity="hard")
    for number, key in enumerate(DAYS):
        (tmp_path / f"datestr={key}").mkdir()
        rows = {"id": list(range(3 if number == 1 else 12))}
        pq.write_table(pa.table(rows), tmp_path / f"datestr={key}" / "part.parquet")


def run(capsys: Capture, *words: str) -> tuple[int, Any, str]:
    code, out, error = ended(capsys, "run", "raw.fares", *words)
    return code, json.loads(out) if "--json" in words else out, error


@pytest.mark.parametrize("words", [("--last", "3"), ("--window", "2026-03-07T00:00Z/2026-03-10T00:00Z")])
def test_a_range_is_judged_partition_by_partition(capsys: Capture, words: tuple[str, ...]) -> None:
    code, answer, _ = run(capsys, *words, "--json")
    found = [(row["window"], row["outcome"], row["value"]) for row in answer["runs"]]
    assert found == [(day(DAYS[2]).text, "held", 12), (day(DAYS[1]).text, "broken", 3), (day(DAYS[0]).text, "held", 12)]
    assert code == 1
    assert {row.window.text: row.state for row in Standing.objects.all()} == {
        day(key).text: state for key, state in zip(DAYS, ("PASS", "WARN", "PASS"), strict=True)
    }


def test_of_many_partitions_those_that_did_not_hold_are_listed(capsys: Capture) -> None:
    _, said, _ = run(capsys, "--last", "3")
    assert "3 runs over 3 partitions: 2 held, 1 broken, 0 error" in said
    assert said.count("enough") == 1


def test_the_past_of_all_datasets_that_fit_a_pattern_is_judged_and_summed_up_by_test(capsys: Capture) -> None:
    DatasetFactory.create(name="whole", partition_column="")
    code, said, error = ended(capsys, "run", "RAW.*", "--last", "3")
    assert (code, "assay: 3 runs, the newest partition first" in error) == (1, True)
    assert "3 runs of 1 dataset: 2 held, 1 broken, 0 error" in said
    assert "raw.fares │ enough │ 1" in said


def test_a_day_without_rows_is_no_inability_where_freshness_says_that_it_is_missing(capsys: Capture) -> None:
    dataset = Dataset.objects.get(name="fares")
    more = {"dataset": dataset, "severity": "soft"}
    DataTestFactory.create(name="double", assertion="1 - count_distinct(id) / row_count() <= 0", **more)
    DataTestFactory.create(name="late", assertion="freshness(complete=0.9) < 6h", category="freshness", **more)
    friday = ("--window", "2026-03-06", "--data-test", "double")
    code, answer, _ = run(capsys, *friday, "--json")
    assert (code, answer["runs"][0]["outcome"]) == (ExitCode.UNABLE, "error")
    assert run(capsys, *friday, "--data-test", "late")[0] == ExitCode.WARNED


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("raw.*",), "needs --last"),
        (("raw.*", "--last", "0"), "from 1 to 10000"),
        (("mart.*", "--last", "3"), "no dataset that fits 'mart.*'"),
    ],
)
def test_a_pattern_that_cannot_be_run_exits_with_3(capsys: Capture, words: tuple[str, ...], says: str) -> None:
    code, _, said = ended(capsys, "run", *words)
    assert (code, says in said) == (3, True)


def test_a_test_that_still_learns_is_no_failure(capsys: Capture) -> None:
    assertion = "row_count() >= mean(row_count(), last=2, min=2)"
    DataTestFactory.create(dataset=Dataset.objects.get(), name="usual", assertion=assertion, severity="hard")
    code, answer, _ = run(capsys, "--window", DAYS[0], "--data-test", "usual", "--json")
    row = answer["runs"][0]
    assert (code, row["outcome"], row["error_reason"]) == (0, "error", "warming up")
    _, said, _ = run(capsys, "--window", DAYS[0], "--data-test", "usual")
    assert "usual │ learning" in said
    _, said, _ = run(capsys, "--last", "3")
    assert ("3 held, 1 broken, 0 error, 2 learning" in said, "learning │" in said) == (True, False), said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--last", "0"), "from 1 to 10000"),
        (("--window", "2026-03-07T06:00Z/2026-03-10T00:00Z"), "cuts through a partition"),
        (("--window", "2027-03-07T00:00Z/2027-03-10T00:00Z"), "has ended"),
    ],
)
def test_a_range_that_cannot_be_run_exits_with_3(capsys: Capture, words: tuple[str, ...], says: str) -> None:
    code, _, said = run(capsys, *words)
    assert (code, says in said) == (3, True)
