"""``g_400``: the four hundred in one select, and one grouping a key with a count for each slice."""

from dataclasses import replace

from benchmarks.engine.four_hundred import of_slices

from .g import G
from .protocol import Task


class G400(G):
    """Given the forty, it runs them on each slice."""

    def prepare(self, task: Task) -> None:
        """As for the forty."""
        super().prepare(replace(task, checks=of_slices(task.checks)))


CONTENDER = G400
