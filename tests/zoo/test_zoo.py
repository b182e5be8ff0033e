"""Real tables that nobody here made, put into a catalogue as they are: every metric agrees with pandas."""

from pathlib import Path

import pytest

from tests.zoo.tables import chosen, specimens
from tests.zoo.visit import visit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

COUNT, SEED = 60, 20261122


def test_every_metric_of_sixty_tables_that_strangers_made_is_what_pandas_says(tmp_path: Path) -> None:
    seen = visit(specimens(chosen(COUNT, SEED)), tmp_path)
    assert len(seen) == COUNT
    assert sum(sighting.clauses for sighting in seen) > 3000
    assert [f"{each.name}: {fault}" for each in seen for fault in each.faults] == []
