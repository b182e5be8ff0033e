"""Assay's engine with the four hundred wanted of one scan."""

from dataclasses import replace

from benchmarks.engine.four_hundred import of_slices

from .ours import Ours
from .protocol import Task


class Ours400(Ours):
    """Given the forty, it runs them on each slice."""

    def prepare(self, task: Task) -> None:
        """As for the forty."""
        super().prepare(replace(task, checks=of_slices(task.checks)))


CONTENDER = Ours400
