"""Which bodies a worker takes for a task's."""

import pytest

from assay.queue.broker import is_sound

EMBEDDED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


@pytest.mark.parametrize("body", [[[], {}, EMBEDDED], [[], {"datacenter": "sea"}, {}], [[1], {}, None]])
def test_arguments_and_what_is_embedded_are_a_task(body: object) -> None:
    assert is_sound(body)


@pytest.mark.parametrize(
    "body", [None, [], {}, 1, "task", [1, 2, 3], [[], {}], [[], {}, {}, {}], [{}, [], {}], ["", {}, {}], {"args": []}]
)
def test_all_else_is_not(body: object) -> None:
    assert not is_sound(body)
