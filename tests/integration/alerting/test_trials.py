"""A trial of a broken value is asked for once for its figures; what it shows is told only to those who may know it."""

from typing import Any

import pytest

from alerting.inhibition.selectors import trials_of
from alerting.models import Alert, SliceSearch, SliceTrial, Standing
from alerting.services import evidence_of, open_alert, weigh_due
from alerting.trials import request_trials
from assay import clock
from assay.models import Dataset
from execution_engine.runs.shown_results import HIDDEN, Veil
from tests.factories import HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, StandingFactory, day

pytestmark = pytest.mark.django_db
MONDAY = day("2026-03-09")
REASON = "were city = 'Rome' as usual, it would hold: row_count() = 1600 in place of 1400"


def fails(dataset: Dataset, datacenter: str = "sea", **more: Any) -> Standing:
    test = DataTestFactory.create(dataset=dataset, datacenter=datacenter)
    run = RunFactory.create(data_test=test, window=MONDAY, outcome="broken", measured_at=NOW)
    row: Standing = StandingFactory.create(
        data_test=test, window=MONDAY, state="FAIL", last_outcome="broken", last_run=run, **more
    )
    return row


def searched(standing: Standing, **slices: Any) -> SliceSearch:
    result = {"status": "slices", "slices": [{"name": "city = 'Rome'", "values": {"city": "Rome"}, **slices}]}
    fields = {"datacenter": "sea", "requested_at": NOW, "ended_at": NOW}
    return SliceSearch.objects.create(standing=standing, result=result, **fields)


def test_a_trial_is_asked_for_once_for_each_result_where_a_slice_is_known() -> None:
    cause, effect = fails(DatasetFactory.create()), fails(DatasetFactory.create())
    request_trials([effect], [cause], NOW)
    assert not SliceTrial.objects.exists()
    searched(cause)
    for _ in range(2):
        request_trials([effect], [cause], NOW)
    assert SliceTrial.objects.get().run == effect.last_run
    again = {"data_test": effect.data_test, "window": MONDAY, "outcome": "broken", "measured_at": NOW}
    for operands, count in ({}, 1), ({"row_count()": 7}, 2):  # the same figures need no trial of their own
        effect.last_run = RunFactory.create(operands=operands, **again)
        request_trials([effect], [cause], NOW)
        assert SliceTrial.objects.count() == count


def test_a_longer_window_is_not_tried_by_the_slice_of_a_shorter_one() -> None:
    cause, effect = fails(DatasetFactory.create()), fails(DatasetFactory.create())
    searched(cause)
    effect.window_end = day("2026-03-15").end
    request_trials([effect], [cause], NOW)
    assert not SliceTrial.objects.exists()


def test_another_datacenters_slice_is_not_tried_and_that_of_home_is_tried_in_all() -> None:
    at_home, elsewhere, effect = (
        fails(DatasetFactory.create(datacenters=("sea", "phx", "dca")), datacenter=place)
        for place in ("sea", "dca", "phx")
    )
    searched(elsewhere)
    request_trials([effect], [elsewhere], NOW)
    assert not SliceTrial.objects.exists()
    search = searched(at_home)
    request_trials([effect], [at_home, elsewhere], NOW)
    trial = SliceTrial.objects.get()
    assert (trial.search, trial.datacenter) == (search, "phx")


def test_of_several_slices_behind_a_cause_it_is_enough_that_one_explains_the_value() -> None:
    above, effect = DatasetFactory.create(), fails(DatasetFactory.create())
    for holds in (True, False):
        request_trials([effect], [searched(fails(above)).standing], NOW)
        SliceTrial.objects.filter(ended_at=None).update(holds=holds, reason=str(holds), ended_at=NOW)
    evidence = trials_of([effect])[effect.pk][str(above.pk), "custom"]
    assert (evidence.explains, evidence.reason) == (True, "True")


def test_where_the_rows_of_the_newest_result_say_nothing_those_of_an_earlier_one_decide_nothing() -> None:
    cause, effect = fails(DatasetFactory.create()), fails(DatasetFactory.create())
    searched(cause)
    for holds in (True, None):
        request_trials([effect], [cause], NOW)
        SliceTrial.objects.filter(ended_at=None).update(holds=holds, ended_at=NOW)
        assert bool(trials_of([effect])) is bool(holds)
        again = {"data_test": effect.data_test, "window": MONDAY, "outcome": "broken", "measured_at": NOW}
        effect.last_run = RunFactory.create(operands={"row_count()": 7}, **again)


def test_what_was_broken_held_and_is_broken_again_is_not_tried_by_what_was_found_before() -> None:
    cause, effect = fails(DatasetFactory.create()), fails(DatasetFactory.create())
    searched(cause)
    request_trials([effect], [cause], NOW)
    SliceTrial.objects.update(holds=True, ended_at=NOW)
    for again in (cause, effect):
        assert trials_of([effect])
        again.broken_since = NOW + HOUR
        again.save()
        assert not trials_of([effect])
        again.broken_since = NOW
        again.save()
    cause.broken_since = NOW + HOUR
    cause.save()
    request_trials([fails(effect.data_test.dataset)], [cause], NOW)
    assert SliceTrial.objects.count() == 1


def test_a_table_without_the_columns_of_the_slice_decides_nothing_and_the_trial_says_why() -> None:
    clock.simulate(NOW)
    cause, effect = fails(DatasetFactory.create()), fails(DatasetFactory.create())
    searched(cause)
    request_trials([effect], [cause], NOW)
    assert (weigh_due("phx"), weigh_due("sea"), weigh_due("sea")) == (0, 1, 0)
    trial = SliceTrial.objects.get()
    assert (trial.holds, trial.ended_at) == (None, NOW)
    assert trial.reason == "the table has not all of its columns, or they may not be counted"


def weighed(readers: str = "", **columns: Any) -> str:
    """Why a value is explained, as its page tells it."""
    above, below = DatasetFactory.create(readers=readers), DatasetFactory.create(**columns)
    cause, effect = (
        open_alert(dataset=row.data_test.dataset, category="custom", owner="ada", now=NOW)
        for row in (fails(above), fails(below))
    )
    effect.evidence = [{"alert": cause.pk, "explains": True, "reason": REASON, "columns": ["city"]}]
    (row,) = evidence_of(effect, Veil(NOW))
    assert isinstance(row["alert"], Alert)
    return str(row["reason"])


def test_why_is_told_only_where_all_readers_may_know_it_and_no_column_is_sensitive() -> None:
    assert weighed() == REASON
    assert weighed(readers="team:finance") == HIDDEN
    assert weighed(columns=[{"name": "City", "type": "string", "sensitive": True}]) == HIDDEN
