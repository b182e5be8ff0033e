"""SQL's three-valued logic; None is unknown."""

from collections.abc import Iterable

Truth = bool | None


def all_of(terms: Iterable[Truth]) -> Truth:
    """False if any is false, else unknown if any is unknown."""
    known = set(terms)
    return False if False in known else None if None in known else True


def any_of(terms: Iterable[Truth]) -> Truth:
    """True if any is true, else unknown if any is unknown."""
    known = set(terms)
    return True if True in known else None if None in known else False


def opposite(term: Truth) -> Truth:
    """Unknown stays unknown."""
    return None if term is None else not term
