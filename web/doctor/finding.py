"""What a check finds."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check's answer; ``mend`` is empty where nothing is wrong."""

    check: str
    is_well: bool
    found: str
    mend: str = ""


def well(check: str, found: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check=check, is_well=True, found=found)


def ill(check: str, found: str, mend: str) -> Finding:
    """What is wrong, and how to mend it."""
    return Finding(check=check, is_well=False, found=found, mend=mend)
