"""How datasets stand, read for all of them at once, is what judging each by its facts says."""

from random import Random
from unittest import mock

import pytest

from alerting.state import State, WaiverKind
from assay.models import Dataset, DataTest, Origin, Scope
from assay.time.windows import Window
from incident_manager.models import ReportState
from incident_manager.quality.now import facts_now, statuses_now
from incident_manager.quality.rules import QualityStatus, RangeRequest, judge
from incident_manager.services import confirm_report, report
from test_generator.generation.standard import UNPARTITIONED
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
    new_business_metric,
)
from tests.integration.rows import waiver

DAYS = [day("2026-03-09"), day("2026-03-08"), day("2025-11-01")]
DATASETS = 100


@pytest.mark.parametrize("seed", range(4))
def test_all_at_once_stand_as_each_does_by_itself(db: None, seed: int) -> None:
    dice = Random(seed)
    for _ in range(DATASETS):
        _some_dataset(dice)
    names = dict(Dataset.objects.values_list("pk", "full_name"))
    each = {id_: judge(facts, RangeRequest()).status for id_, facts in facts_now(names, now=NOW).items()}
    assert statuses_now(names, now=NOW) == each
    with mock.patch("incident_manager.quality.now.MOST_NAMED", 10):
        assert statuses_now(names, now=NOW) == each
    assert set(each.values()) == set(QualityStatus)


def test_no_dataset_has_no_status(db: None) -> None:
    assert statuses_now({}, now=NOW) == {}


def _some_dataset(dice: Random) -> None:
    """A dataset with up to four tests of any kind, and what users and incidents say of it."""
    dataset = DatasetFactory.create(datacenters=dice.choice([("sea",), ("sea", "phx")]))
    if dice.random() < 0.2:
        dataset.partition_column = dataset.granularity = ""
        dataset.save()
    for number in range(dice.randrange(5)):
        test = _some_test(dice, dataset, number)
        for window in dice.sample(DAYS, dice.randrange(3)):
            _some_standing(dice, test, window=window)
    if dice.random() < 0.1:
        window, incident = dice.choice(DAYS), IncidentFactory.create(dataset=dataset)
        SpoiltWindowFactory.create(incident=incident, window=window, healed_at=dice.choice([None, NOW]))
    if dice.random() < 0.3:
        claim = report(dataset=dataset, window=DAYS[0], reporter="eve", description="doubled", now=NOW)
        if claim.state == ReportState.OPEN and dice.random() < 0.3:
            confirm_report(claim, author="ada", now=NOW)
    if dice.random() < 0.1:
        new_business_metric(dataset, name=f"count_of_{dataset.name}")


def _some_test(dice: Random, dataset: Dataset, number: int) -> DataTest:
    """One that judges partitions or the whole table, whose schedule is behind, ahead or not there."""
    ahead = dice.choice([None, -HOUR, HOUR, HOUR, HOUR, HOUR])
    window = {"next_window_start": NOW, "next_window_end": NOW + DAY}
    coming = {} if ahead is None else {"next_due_at": NOW + ahead, **window}
    unpartitioned = number == 0 and dice.random() < 0.3
    test = DataTestFactory.create(
        dataset=dataset,
        name=UNPARTITIONED if unpartitioned else f"custom-{number}",
        category=f"custom-{number}",
        origin=dice.choice([Origin.USER, Origin.GENERATED]),
        datacenter=dice.choice(["sea", "phx"]),
        scope=dice.choice([Scope.PARTITION, Scope.PARTITION, Scope.TABLE]),
        schedule=dice.choice(["partition", "partition", "every 6h"]),
        severity=dice.choice(["hard", "soft"]),
        retired_at=dice.choice([None] * 5 + [NOW]),
        **coming,
    )
    if dice.random() < 0.1:
        DataTest.objects.filter(pk=test.pk).update(revision=None)
    if dice.random() < 0.1:
        done = dice.choice([None, NOW])
        RunFactory.create(data_test=test, reason=dice.choice(["schedule", "asked"]), judged_at=done, evaluated_at=done)
    return test


def _some_standing(dice: Random, test: DataTest, window: Window) -> None:
    state = dice.choice([State.PASS] * 12 + list(State))
    outcome = {State.PASS: "held", State.FAIL: "broken", State.WARN: "broken"}.get(state) or dice.choice(["", "held"])
    standing = StandingFactory.create(data_test=test, state=state, last_outcome=outcome, window=window)
    if dice.random() < 0.1:
        standing.waiver = waiver(test, window, revision=standing.revision, kind=dice.choice(list(WaiverKind)))
        standing.save()
