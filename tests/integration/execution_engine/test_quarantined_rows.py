"""What lifting a quarantine asks for anew, and which tables, keys and suspects a measurement is given."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from assay.models import Dataset
from execution_engine import services
from execution_engine.freshness.derive import failure_of, input_failure
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.keys.digest import KeyDigest, digest_of_hashes
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Run, Suspect
from execution_engine.outcome import Reason
from execution_engine.planning.planner import hash_of
from execution_engine.runs import request as quarantine
from execution_engine.scans.ask import input_name, settled_by
from execution_engine.scans.reading import names_read, tables_read
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, day

pytestmark = pytest.mark.django_db

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
SECOND = timedelta(seconds=1)


def quarantined(**more: Any) -> Suspect:
    return Suspect.objects.create(
        **{
            "dataset": DatasetFactory.create(),
            "datacenter": "sea",
            "spec_hash": "h",
            "spec_text": "row_count()",
            "window_start": MONDAY.start,
            "window_end": MONDAY.end,
            "ends": 5,
            "reason": "timeout",
            "first_at": NOW - DAY,
            "last_at": NOW - HOUR,
            "quarantined_at": NOW - HOUR,
            **more,
        }
    )


def kept_from(**more: Any) -> Run:
    """A run that was not measured as its metric is quarantined."""
    given = {"outcome": "error", "error_reason": Reason.QUARANTINED.value, "evaluated_at": NOW - HOUR, **more}
    run: Run = RunFactory.create(**given)
    return run


def test_what_a_quarantine_kept_from_being_measured_is_run_again(trips: Dataset) -> None:
    suspect, kept = quarantined(), kept_from()
    again = kept_from(data_test=kept.data_test)  # the same window once more
    assert again.window == kept.window
    kept_from(error_reason="timeout")
    kept_from(outcome="broken")
    kept_from(evaluated_at=NOW - HOUR - SECOND)
    kept_from(data_test__retired_at=NOW)
    (run,) = services.lift_quarantine(suspect, now=NOW)
    assert (run.data_test, run.window, run.reason, run.due_at) == (kept.data_test, kept.window, "manual", NOW)
    assert run.slot.endswith(f":manual:lifted:{suspect.pk}:{NOW.isoformat()}")
    suspect.refresh_from_db()
    assert (suspect.quarantined_at, suspect.ends, suspect.last_at) == (None, 2, NOW - HOUR)


def test_a_suspect_that_is_not_quarantined_is_left_as_it_is() -> None:
    suspect = quarantined(quarantined_at=None)
    kept_from()
    assert services.lift_quarantine(suspect, now=NOW) == []
    suspect.refresh_from_db()
    assert (suspect.ends, Run.objects.count()) == (5, 1)


def test_the_newest_windows_are_run_again_first_and_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "MOST_LIFTED", 2)
    data_test = DataTestFactory.create()
    for window in (SUNDAY, MONDAY, day("2026-03-07")):
        kept_from(data_test=data_test, window=window)
    assert [run.window for run in services.lift_quarantine(quarantined(ends=1), now=NOW)] == [MONDAY, SUNDAY]
    assert Suspect.objects.get().ends == 1


def test_a_window_that_is_kept_no_more_is_not_run_again() -> None:
    old = DataTestFactory.create(dataset=DatasetFactory.create(retention=DAY))
    kept_from(data_test=old, window=day("2026-03-01"))
    kept = kept_from()
    assert [run.data_test for run in services.lift_quarantine(quarantined(), now=NOW)] == [kept.data_test]


def reads(query: str, dataset: Dataset, datacenter: str = "sea") -> dict[str, str]:
    """Where each table that a query reads lies."""
    found = tables_read(MetricSpec(name="query", arguments=(query,)), dataset, datacenter)
    return {name: table.location for name, table in found.items()}


def test_a_query_reads_what_the_catalog_has_beside_its_own_table() -> None:
    own = DatasetFactory.create(namespace="raw", name="trips", datacenters=("sea", "phx"))
    DatasetFactory.create(namespace="raw", name="events", datacenters=("sea", "phx"))
    DatasetFactory.create(namespace="raw", name="fares")
    everything = "select 1 from RAW.Events, raw.trips, fares, gone, raw.gone"
    assert reads(everything, own, "phx") == {
        "RAW.Events": "/lake/phx/events",
        "raw.trips": "/lake/phx/trips",
        "fares": "/lake/sea/fares",  # it has no replica there: home's
    }
    assert reads("select 1 from raw.events", own) == {"raw.events": "/lake/sea/events"}
    assert reads("no sql (", own) == {}


def test_a_name_without_a_namespace_is_that_of_the_same_namespace_and_of_no_other() -> None:
    for namespace in ("aa", "dw", "zz"):
        dataset = DatasetFactory.create(namespace=namespace, name="Events")
        dataset.replicas.update(location=f"/lake/{namespace}")
    assert reads("select 1 from events", DatasetFactory.create(namespace="zz")) == {"events": "/lake/zz"}
    assert reads("select 1 from EVENTS", DatasetFactory.create(namespace="mm")) == {}
    assert reads("select 1 from dw.events", DatasetFactory.create(namespace="zz")) == {"dw.events": "/lake/dw"}


def test_a_table_that_lies_nowhere_or_may_not_be_read_is_left_to_the_engine() -> None:
    DatasetFactory.create(name="bare").replicas.all().delete()
    DatasetFactory.create(name="barred").replicas.update(location="env:NOT_SET")
    own = DatasetFactory.create()
    assert reads("select 1 from raw.bare, raw.barred", own) == {}


@pytest.mark.parametrize(
    ("metric", "names"),
    [
        (
            MetricSpec(name="query", arguments=("select 1 from b.x join a.y on true union select 1 from z",)),
            "a.y b.x z",
        ),
        (MetricSpec(name="sample_found", arguments=("raw.trips",)), ""),  # it builds on the sample
        (ALL_ROWS, ""),
        (MetricSpec(name="mean", columns=("fare",)), ""),
    ],
)
def test_a_metric_names_the_tables_that_it_reads_itself(metric: MetricSpec, names: str) -> None:
    assert names_read(metric) == names.split()


def digest(*hashes: int, key: bytes | None = None) -> bytes:
    made: KeyDigest = digest_of_hashes(("id",), np.array(sorted(hashes), dtype=np.uint64), len(hashes))
    return made.to_bytes(key)


@pytest.mark.parametrize("name", ["bloom_filter", "keys_found"])
def test_equal_digests_settle_a_comparison_of_keys(name: str) -> None:
    states = {"key_digest": digest(1, 2, 3), "key_digest@other": digest(1, 2, 3)}
    settled = settled_by(name, states, None)
    assert settled
    assert (settled.value, settled.failure) == (3, None)
    assert settled.detail == {"settled": "equal digests", "missing": 0, "lost": []}
    signed = {side: digest(1, 2, key=b"k") for side in states}
    assert settled_by(name, signed, b"k")
    assert settled_by(name, signed, b"another") is None


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("keys_found", {"key_digest": digest(1), "key_digest@other": digest(2)}),
        ("keys_found", {"key_digest": digest(1)}),
        ("keys_found", {"key_digest@other": digest(1)}),
        ("keys_found", {"key_digest": digest(1), "key_digest@other": b"damaged"}),
        ("row_count", {"key_digest": digest(1), "key_digest@other": digest(1)}),
    ],
    ids=["they differ", "no other", "no own", "damaged", "another metric"],
)
def test_nothing_else_is_settled_without_a_look_at_the_data(name: str, states: dict[str, bytes]) -> None:
    assert settled_by(name, states, None) is None


def measured(**more: Any) -> Measurement:
    spec = more.pop("spec", ALL_ROWS)
    window = {"window_start": MONDAY.start, "window_end": MONDAY.end}
    given = {"datacenter": "sea", "spec": spec.to_json(), "spec_hash": hash_of(spec), "spec_text": spec.text, **window}
    return Measurement(**{**given, **more})


@pytest.mark.parametrize(
    ("name", "datacenter", "called"),
    [
        ("key_digest", "sea", "key_digest"),
        ("key_digest", "phx", "key_digest@other"),
        ("bloom_filter", "phx", "bloom_filter"),
    ],
)
def test_the_digest_of_another_place_has_a_name_of_its_own(name: str, datacenter: str, called: str) -> None:
    part = measured(spec=MetricSpec(name=name, columns=("id",)), datacenter=datacenter)
    assert input_name(measured(), part) == called


def test_a_failure_for_good_says_more_than_one_that_may_pass() -> None:
    sound, hung = measured(), measured(failure_reason="timeout", failure_detail="late")
    locked = measured(failure_reason="table cannot be read", failure_detail="locked")
    assert (failure_of(sound), input_failure([sound]), input_failure([])) == (None, None, None)
    for inputs, said in (
        ([sound, hung], "timeout: late"),
        ([hung, locked], "table cannot be read: locked"),
        ([locked, hung], "table cannot be read: locked"),
    ):
        assert str(input_failure(inputs)) == said
