"""What all small tables together answered."""

from collections.abc import Mapping

from benchmarks.engine.small import checks_of

from .protocol import Answer, answer


def answer_of_all(values: Mapping[str, Mapping[str, float | None]]) -> Answer:
    """One answer for many tables; what failed bears the table's name."""
    answers = {table: answer(checks_of(table.split("-")[0]), found) for table, found in values.items()}
    failed = frozenset(f"{table}: {check}" for table, one in answers.items() for check in one.failed)
    return Answer(checks=sum(one.checks for one in answers.values()), failed=failed)
