"""The days of a history: their names, apart from what writes them."""

from datetime import date, timedelta

ROWS_A_DAY = 100_000
FIRST_DAY = date(2026, 1, 1)


def days(rows: int) -> list[str]:
    """The days of a history of so many rows, and the one that is added to it."""
    return [str(FIRST_DAY + timedelta(days=number)) for number in range(rows // ROWS_A_DAY + 1)]
