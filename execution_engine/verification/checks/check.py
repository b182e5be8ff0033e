"""A check: constraints of one level, added one after another."""

from .of_completeness import OfCompleteness
from .of_keys import OfKeys
from .of_numbers import OfNumbers
from .of_rows import OfRows
from .of_texts import OfTexts
from .over_time import OverTime


class Check(OfCompleteness, OfKeys, OfNumbers, OfTexts, OfRows, OverTime):
    """Constraints of one level on one dataset.

    A check is never changed: each method returns a new check with one constraint more. A method reads no data, and
    raises only what its arguments by themselves forbid. What the data forbids, such as a column that is missing or of
    another type, is found by ``Verification.run``, as a constraint of status ``error``. To bound one metric at two
    levels, write two checks.

    Parameters:
        level: how serious it is that a constraint fails.
        name: what results call the check.
        where: a condition of Spark SQL. All constraints look only at the rows that meet it.
        on: ``"whole"`` looks at all the data so far, ``"delta"`` only at the rows that were added
            (``Verification.add_up``).
        constraints: what the methods below have added. Leave it out.

    Errors:
        ValueError: ``on`` is another text.

    Example:
        >>> check = Check(Level.ERROR, "integrity").is_complete("id").has_size(at_least(1000))
        >>> [constraint.text for constraint in check.constraints]
        ['is_complete(id)', 'has_size()']
    """
