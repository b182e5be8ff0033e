"""Stories of 50 steps in which anything may happen: 5,000 with ``ASSAY_FUZZ=full``, else a few."""

import os
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from tests.fuzz.states import HAPPENED, Company, channels

FULL = os.environ.get("ASSAY_FUZZ") == "full"
START = int(os.environ.get("ASSAY_FUZZ_START", "0"))  # other numbers make other stories
STORIES = int(os.environ.get("ASSAY_FUZZ_STORIES", "5000" if FULL else "12"))
STEPS = 50 if FULL else 30


@pytest.fixture
def _two_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody is reached by the log and by a pager."""
    for module in ("alerting.channels", "alerting.alerts.services"):
        monkeypatch.setattr(f"{module}.channels", channels)


def tell_stories(start: int) -> Counter[str]:
    """What happened in so many stories; raises with the shortest one that ends wrong."""
    HAPPENED.clear()
    how = settings(
        max_examples=STORIES,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seeded(start)(Company), settings=how)
    return Counter(HAPPENED)


@pytest.mark.timeout(12 * 3600)
@pytest.mark.usefixtures("_two_channels")
@pytest.mark.django_db
def test_whatever_happens_all_is_as_it_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    happened = tell_stories(START)
    with capsys.disabled():
        said = ", ".join(f"{count:,} {what}" for what, count in happened.most_common())
        print(f"\nin {time.monotonic() - began:.0f} s: {said}")
    assert {"held", "broken", "broken late", "doubled", "force_resolve", "accept", "report"} <= set(happened)
    assert happened["incidents"] > 0
    assert happened["notices"] > 0
