"""Real tables that nobody here made, put into a catalogue as they are: every metric agrees with pandas."""

from pathlib import Path

import pytest

from tests.zoo.tables import chosen, specimens
from tests.zoo.visit import visit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

COUNT, SEED = 25, 20261122
ODD_NAMES = ["MASS/Cars93", "vcdExtra/Asbestos", "AER/CPS1985"]  # with dots and spaces, and a text called union


def test_every_metric_of_tables_that_strangers_made_is_what_pandas_says(tmp_path: Path) -> None:
    seen = visit(specimens([*ODD_NAMES, *chosen(COUNT - len(ODD_NAMES), SEED)]), tmp_path)
    assert len(seen) == COUNT
    assert sum(sighting.quoted for sighting in seen) > 4
    assert sum(sighting.clauses for sighting in seen) > 1200
    assert [f"{each.name}: {fault}" for each in seen for fault in each.faults] == []
