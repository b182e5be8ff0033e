"""The whole loop over a lake in memory."""

from collections.abc import Iterator

import pytest

from execution_engine import storage
from tests.crawler.crawl import glance
from tests.e2e.scenario import Lake, Scenario


@pytest.fixture
def scenario(db: None) -> Iterator[Scenario]:
    """A company whose story begins on the morning of Monday, 9 March 2026; at its end all pages answer, and alike."""
    lake = Lake()
    with storage.using(lake):
        told = Scenario(lake=lake)
        told.begin("2026-03-09 09:00")
        yield told
        assert glance() == []
