"""Profiles as bytes; those that cannot be read are of batches that must be profiled again."""

from .column import ColumnKind, ColumnProfile
from .distinct import DistinctSample
from .envelope import Envelope
from .numbers import Numbers
from .points import Points
from .profile import Profile
from .texts import Texts
from .values import ValueCounts

ENVELOPE = Envelope(
    magic=b"ASSAYPRF",
    version=1,
    what="profile",
    classes=(Profile, ColumnProfile, ValueCounts, DistinctSample, Numbers, Points, Texts),
    enums=(ColumnKind,),
)


def to_bytes(profile: Profile) -> bytes:
    """The bytes that ``from_bytes`` reads back to an equal profile."""
    return ENVELOPE.to_bytes(profile)


def from_bytes(stored: bytes) -> Profile:
    """The profile that ``to_bytes`` wrote; UnableToRead for anything else."""
    found: Profile = ENVELOPE.from_bytes(stored)
    return found
