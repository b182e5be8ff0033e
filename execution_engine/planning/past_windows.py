"""Which windows came before one: those right before it, or it moved back step by step (pure)."""

from collections.abc import Iterator
from dataclasses import replace

from assay.time.windows import Partitioning, Step, UnableToStep, Window
from execution_engine.language.step_arguments import fits, no_multiple
from execution_engine.language.tree import History, HistoryFunction


class UnableToLookBack(Exception):
    """The calendar has no such partition: an hour that the clocks skipped, or one before the year 1."""


def past_windows(window: Window, partitioning: Partitioning, history: History) -> tuple[Window, ...]:
    """The windows a history is over, the oldest first; raises UnableToStep for a step that does not fit.

    Steps are counted from ``window``, not from one to the next, so that a 31st is found again behind a shorter month.
    A window that the calendar does not have is left out.
    """
    is_lag = history.function is HistoryFunction.LAG
    if history.every is None:
        return partitioning.previous(window, history.last)[: 1 if is_lag else None]
    step = -Step.parse(history.every)
    counts = [history.last] if is_lag else range(history.last, 0, -1)
    return tuple(_existing(window, partitioning, [replace(step, amount=step.amount * count) for count in counts]))


def partition_before(window: Window, partitioning: Partitioning, step: Step) -> Window:
    """The partition one step away; raises UnableToStep, or UnableToLookBack where the calendar has none."""
    if not fits(step, partitioning.granularity):
        raise UnableToStep(no_multiple(step, partitioning.granularity))  # even if it fits here by chance
    try:
        return partitioning.step(window, step)
    except (ValueError, OverflowError) as error:
        detail = f"{step} from {partitioning.key(window)} there is no {partitioning.granularity.value} of "
        raise UnableToLookBack(f"{detail}{partitioning.time_zone}") from error


def _existing(window: Window, partitioning: Partitioning, steps: list[Step]) -> Iterator[Window]:
    for step in steps:
        try:
            yield partition_before(window, partitioning, step)
        except UnableToLookBack:
            continue
