"""Whether kernels pay beside what Spark must gather of the same rows anyway (pure).

CPU seconds, fitted to scans of 10,000 to 10 million rows (docs/decisions/0087). Only orders of size count: a table of
wide texts, or of other machines, moves the line, and the values are the same on both sides of it.
"""

from collections.abc import Collection, Sequence

from .selects import AskedStatistic, Keyed, selects

JOB = 0.060  # a job of the kernels: its plan, and what each of Spark's jobs costs
TASK = 0.025  # a task of it: the start of its Python, and the footers that it reads
VALUE = 0.0025  # what Spark takes to plan one value more, to write code for it and to send it back
VALUE_OF_ROW = 10e-9  # what it takes longer than the kernels to gather one of a row that it reads anyway


def kernels_pay(
    asked: Sequence[AskedStatistic],
    keyed: Sequence[Keyed],
    left: Collection[AskedStatistic | Keyed],
    *,
    rows: int,
    tasks: int,
    together: bool,
) -> bool:
    """Whether a job of the kernels, of so many tasks, costs less than what it saves Spark.

    ``left``: what is Spark's whoever gathers the rest. ``together``: Spark gathers all in one job (``selects``), which
    groupings share.
    """
    if together:
        return not left or _saved(len(asked) + len(keyed), rows) > JOB + tasks * TASK
    own = [one for one in left if isinstance(one, AskedStatistic)]
    jobs_of_own, jobs = (len(selects(some, together=False)) for some in (own, [*own, *asked]))
    if keyed or jobs > jobs_of_own:
        return True  # they save Spark a job, which reads the rows once more
    return _saved(len(asked), rows) > JOB + tasks * TASK


def _saved(values: int, rows: int) -> float:
    return values * (VALUE + rows * VALUE_OF_ROW)
