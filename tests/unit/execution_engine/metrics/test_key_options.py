import pytest

from execution_engine.metrics.definitions.bloom import problem
from execution_engine.metrics.spec import Literal, MetricSpec


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), None),
        ((("error_rate", 0.001), ("format", "pybloom")), None),
        ((("format", "pickle"),), "format is 'pickle', not one of hashes, xxhash, pybloom"),
        ((("error_rate", 0.5),), "error_rate is 0.5, not one of 0.001, 0.01"),
    ],
)
def test_a_filter_is_asked_for_in_a_format_and_at_a_rate_that_there_is(
    options: tuple[tuple[str, Literal], ...], expected: str | None
) -> None:
    assert problem(MetricSpec(name="keys_found", columns=("id",), options=options)) == expected
