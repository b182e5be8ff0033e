"""The six dimensions of quality; of which of them a metric tells stands in its definition.

They are those of Apache Griffin, as "Banyu's data quality centre" (2021) lists them.
"""

from enum import StrEnum


class Dimension(StrEnum):
    """What of data is good or bad."""

    ACCURACY = "accuracy"  # values are what really was
    COMPLETENESS = "completeness"  # nothing is missing
    TIMELINESS = "timeliness"  # it is there in time
    UNIQUENESS = "uniqueness"  # nothing is there twice
    VALIDITY = "validity"  # values have the form, type and range that they should have
    CONSISTENCY = "consistency"  # copies and tables do not contradict each other
