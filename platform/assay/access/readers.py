"""Who may see what tests found of a dataset: everybody, or those whom its metadata names (pure)."""

import re
from collections.abc import Collection, Sequence

from .roles import Owned, Person, Role, owns

READER = re.compile(rf"role:({'|'.join(Role)})|(team|user):\S(.*\S)?")


def may_read(person: Person, dataset: Owned) -> bool:
    """Whether somebody is among a dataset's readers; its owner, its team and admins always are."""
    is_owner = person.role is not Role.PRODUCER and owns(person, dataset)  # a producer may name the owner
    if not dataset.readers or person.role is Role.ADMIN or is_owner:
        return True
    known = {f"role:{person.role}", f"user:{person.name}", *(f"team:{team}" for team in person.teams)}
    return not known.isdisjoint(dataset.readers)


def readers_of(dataset: Owned) -> frozenset[str] | None:
    """All who may read a dataset, admins apart; None for everybody."""
    if not dataset.readers:
        return None
    team = {f"team:{dataset.team}"} if dataset.team else set()
    return frozenset({*dataset.readers, f"user:{dataset.owner}", *team})


def may_show(of: Owned, to: Owned) -> bool:
    """Whether all who may read what is said of one dataset may read the other too."""
    wanted, allowed = readers_of(to), readers_of(of)
    return allowed is None or (wanted is not None and wanted <= allowed)


def wrong_readers(readers: Sequence[str]) -> Collection[str]:
    """Those that name nobody."""
    return [reader for reader in readers if not READER.fullmatch(reader)]
