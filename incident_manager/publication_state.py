"""How far a publication is (pure)."""

from enum import StrEnum


class PublicationState(StrEnum):
    """How far a publication is."""

    AUDITED = "audited"  # the pointer has not moved
    MOVING = "moving"  # it may have
    PUBLISHED = "published"
    UNDONE = "undone"  # it never moved for this publication
