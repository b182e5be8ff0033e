"""Who may do what: roles and scopes as tables of rules, and the readers of a dataset. All of it is pure.

The people, services and tokens themselves are in ``accounts``; how a request proves who sends it, in ``web.access``.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

# Who may do what: role × action × relation to the dataset, narrowed by the scopes of a token. One table each.


class Role(StrEnum):
    """What somebody is here."""

    VIEWER = "viewer"
    OWNER = "owner"
    PRODUCER = "producer"
    OPERATOR = "operator"
    ADMIN = "admin"


class Action(StrEnum):
    """What somebody wants to do, in words that a refusal can use."""

    READ = "read"
    ASK = "ask whether data may be used"
    REPORT = "report bad data"
    ACT = "act on incidents and reports"
    SILENCE = "mute notices"
    FOLLOW = "follow datasets"
    OVERRIDE = "let pipelines read what the gate blocks"
    RUN = "run tests"
    TEST = "write data tests"
    CORRECT = "correct what sources say of datasets"
    PUSH = "push catalog, lineage and completions"
    LIFT = "lift a quarantine"
    AUDIT = "read the audit"
    SHOW_TOKENS = "list and revoke tokens"
    MAKE_TOKEN = "make a token for oneself"
    MANAGE = "manage members"
    LEAVE = "end the token that is sent"


class TokenScope(StrEnum):
    """What a token may be used for, at most."""

    READ = "read"
    GATE = "gate"
    INGEST = "ingest"
    ACT = "act"
    MANAGE = "manage"


class AllowedOn(StrEnum):
    """On which datasets."""

    NONE = "–"
    OWN = "own"
    ANY = "yes"


NO, OWN, ANY = AllowedOn.NONE, AllowedOn.OWN, AllowedOn.ANY

# in the order of Role: viewer, owner, producer, operator, admin
RULES: Mapping[Action, tuple[AllowedOn, ...]] = MappingProxyType(
    {
        Action.READ: (ANY, ANY, ANY, ANY, ANY),
        Action.ASK: (ANY, ANY, ANY, ANY, ANY),
        Action.REPORT: (ANY, ANY, ANY, ANY, ANY),
        Action.ACT: (NO, OWN, NO, ANY, ANY),
        Action.SILENCE: (NO, OWN, NO, ANY, ANY),
        Action.FOLLOW: (ANY, ANY, ANY, ANY, ANY),
        Action.OVERRIDE: (NO, OWN, NO, ANY, ANY),
        Action.RUN: (NO, OWN, NO, ANY, ANY),
        Action.TEST: (NO, OWN, NO, OWN, ANY),
        Action.CORRECT: (NO, OWN, NO, OWN, ANY),
        Action.PUSH: (NO, NO, ANY, NO, ANY),
        Action.LIFT: (NO, NO, NO, ANY, ANY),
        Action.AUDIT: (NO, NO, NO, ANY, ANY),
        Action.SHOW_TOKENS: (OWN, OWN, OWN, OWN, ANY),
        Action.MAKE_TOKEN: (ANY, ANY, ANY, ANY, ANY),
        Action.MANAGE: (NO, NO, NO, NO, ANY),
        Action.LEAVE: (ANY, ANY, ANY, ANY, ANY),
    }
)

# no scope has MAKE_TOKEN: a token makes no tokens, so that one that leaks cannot outlive its own end
SCOPES: Mapping[TokenScope, frozenset[Action]] = MappingProxyType(
    {
        TokenScope.READ: frozenset({Action.READ, Action.AUDIT, Action.LEAVE}),
        TokenScope.GATE: frozenset({Action.ASK, Action.LEAVE}),
        TokenScope.INGEST: frozenset({Action.PUSH, Action.LEAVE}),
        TokenScope.ACT: frozenset(
            {Action.REPORT, Action.ACT, Action.SILENCE, Action.FOLLOW, Action.OVERRIDE}
            | {Action.RUN, Action.TEST, Action.CORRECT, Action.LIFT, Action.LEAVE}
        ),
        TokenScope.MANAGE: frozenset({Action.SHOW_TOKENS, Action.MANAGE, Action.LEAVE}),
    }
)


@dataclass(frozen=True, kw_only=True)
class Person:
    """Who asks; ``scopes`` of the token that was sent, or None for a password or a session."""

    name: str
    role: Role = Role.VIEWER
    teams: frozenset[str] = frozenset()
    scopes: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Owned:
    """What decides whose a dataset, or all that hangs on it, is; a token is its user's."""

    name: str
    owner: str
    team: str
    readers: tuple[str, ...] = ()  # who may see it, as assay.access reads them; empty: everybody


def owns(person: Person, dataset: Owned) -> bool:
    """Whether a dataset is the person's own, or of one of their teams."""
    return dataset.owner == person.name or (bool(dataset.team) and dataset.team in person.teams)


def refusal(person: Person, action: Action | None, dataset: Owned | None = None) -> str | None:
    """None where ``person`` may, else the reason why not. Without a dataset: whether they may on any at all."""
    if action is None:
        return "Nobody may do this: no rule allows it."
    reach = reach_of(person.role, action)
    if not (reach is ANY or (reach is OWN and (dataset is None or owns(person, dataset)))):
        of_what = f" of {dataset.name}" if dataset else ""
        role = f"{person.name} has the role {person.role}, and may not {action}{of_what}."
        return f"{role} Who may: {who_may(action)}."
    scopes, enough = person.scopes, scopes_for(action)
    if scopes is None or not scopes.isdisjoint(enough):
        return None
    if not enough:
        return f"No token may {action}: sign in with your password to do this."
    has = f"the scope{'s' * (len(scopes) > 1)} {', '.join(sorted(scopes))}" if scopes else "no scope"
    return f"This token has {has}, and may not {action}. This needs the scope {' or '.join(enough)}."


def reach_of(role: Role, action: Action) -> AllowedOn:
    """On which datasets a role may do something; none where no rule says so."""
    return dict(zip(Role, RULES.get(action, ()), strict=False)).get(role, NO)


def who_may(action: Action) -> str:
    """The roles that may do something, in words."""
    every = [str(role) for role in Role if reach_of(role, action) is ANY]
    own = [str(role) for role in Role if reach_of(role, action) is OWN]
    whose = [f"{' or '.join(own)} (of their own datasets)"] if own else []
    return ", ".join([*whose, *every])


def scopes_for(action: Action) -> list[str]:
    """The scopes of which a token needs one to do something; none: no token may."""
    return [str(scope) for scope in TokenScope if action in SCOPES[scope]]


# Who may see what tests found of a dataset: everybody, or those whom its metadata names (pure).

READER = re.compile(rf"role:({'|'.join(Role)})|(team|user):\S(.*\S)?")


def may_read(person: Person, dataset: Owned) -> bool:
    """Whether somebody is among a dataset's readers; its owner, its team and admins always are."""
    is_owner = person.role is not Role.PRODUCER and owns(person, dataset)  # a producer may name the owner
    if not dataset.readers or person.role is Role.ADMIN or is_owner:
        return True
    names = {f"role:{person.role}", f"user:{person.name}", *(f"team:{team}" for team in person.teams)}
    return not names.isdisjoint(dataset.readers)


def readers_of(dataset: Owned) -> frozenset[str] | None:
    """All who may read a dataset, admins apart; None for everybody."""
    if not dataset.readers:
        return None
    team = {f"team:{dataset.team}"} if dataset.team else set()
    return frozenset({*dataset.readers, f"user:{dataset.owner}", *team})


def may_show(of: Owned, to: Owned) -> bool:
    """Whether all who may read what is said of one dataset may read the other too."""
    readers, allowed = readers_of(to), readers_of(of)
    return allowed is None or (readers is not None and readers <= allowed)


def wrong_readers(readers: Sequence[str]) -> Collection[str]:
    """Those that name nobody."""
    return [reader for reader in readers if not READER.fullmatch(reader)]
