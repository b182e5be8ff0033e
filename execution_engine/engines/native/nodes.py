"""The closed language of conditions and values: what means the same here as in Spark's ANSI mode, and cannot fail.

No cast of values but to texts, no arithmetic but the one to doubles: nothing can raise or overflow on one row and not
on another.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class UnableToTell(Exception):
    """What is asked is not surely the same here as by Spark; Spark must answer it."""


class Compare(StrEnum):
    """How two values are compared, NaN being the greatest number and 0.0 the same as -0.0."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class LiteralKind(StrEnum):
    """What a literal is; ``EXACT`` are whole numbers and decimals, ``DATE`` days and ``TIMESTAMP`` microseconds."""

    EXACT = "exact"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One of the language."""


@dataclass(frozen=True, kw_only=True)
class Column(Node):
    """The column with this name in lower case."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Literal(Node):
    """One value for all rows; ``digits`` and ``scale`` are of the decimal that Spark reads an exact one as."""

    kind: LiteralKind
    value: int | float | str | Decimal
    digits: int = 0
    scale: int = 0


@dataclass(frozen=True, kw_only=True)
class AsDouble(Node):
    """A number as the nearest double."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class AsText(Node):
    """A value as the text that Spark casts it to."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class CharLength(Node):
    """How many code points a text has."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class Hashed(Node):
    """Spark's hash of a value, as a sketch takes it."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class When(Node):
    """The value where the condition is met, null elsewhere."""

    met: Node
    then: Node


@dataclass(frozen=True, kw_only=True)
class Truth(Node):
    """TRUE or FALSE, for all rows."""

    value: bool


@dataclass(frozen=True, kw_only=True)
class Not(Node):
    """Not met; NULL stays NULL."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class And(Node):
    """Both, by SQL's logic of three values."""

    left: Node
    right: Node


@dataclass(frozen=True, kw_only=True)
class Or(Node):
    """Either, by SQL's logic of three values."""

    left: Node
    right: Node


@dataclass(frozen=True, kw_only=True)
class IsNull(Node):
    """Whether there is no value."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class IsNan(Node):
    """Whether a double is NaN; a null is not."""

    of: Node


@dataclass(frozen=True, kw_only=True)
class Compared(Node):
    """A value beside another one or a literal."""

    by: Compare
    left: Node
    right: Node


@dataclass(frozen=True, kw_only=True)
class IsIn(Node):
    """Whether a value is one of the literals."""

    of: Node
    among: tuple[Literal, ...]

    def __hash__(self) -> int:
        """Of a long list the hash would cost as much as to look for its values."""
        return hash((self.of, len(self.among)))


@dataclass(frozen=True, kw_only=True)
class Found(Node):
    """Whether a regular expression of RE2's is found in a text.

    ``ends``: whether it holds for texts alone that do not end with a line break, as ``$`` means another thing then.
    """

    of: Node
    pattern: str
    ends: bool = False


@dataclass(frozen=True, kw_only=True)
class Holds(Node):
    """Whether a text holds another one: anywhere, where it starts, where it ends, or as the whole of it."""

    of: Node
    text: str
    starts: bool
    ends: bool
