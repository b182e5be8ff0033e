"""What a check is on: all the data so far, or the delta alone that was added to it."""

from typing import Literal, get_args

from execution_engine.verification.constraints.constraints import AskedMetric

On = Literal["whole", "delta"]


def checked(on: str) -> None:
    """Nothing for a part of the data that a check can be on; else ValueError."""
    if on not in get_args(On):
        raise ValueError(f"on={on!r} is no part of the data: write on='whole', or on='delta' for what was added")


def stored_name(ask: AskedMetric, on: On, table: str) -> str:
    """What a metric is called in results and repositories: that of the table's delta has a series of its own."""
    if ask.dataset not in (None, table):
        return f"{ask.spec.text} of {ask.dataset}"
    return f"{ask.spec.text} on delta" if on == "delta" else ask.spec.text
