"""The machine's own clock is in a zone of which no test tells: nothing may depend on it."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _elsewhere() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        yield
    time.tzset()
