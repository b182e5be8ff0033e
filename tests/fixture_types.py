"""Short names of what many tests are given."""

import pytest

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
