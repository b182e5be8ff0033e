"""What a fault experiment guards, and how it is taken out (data)."""

from dataclasses import dataclass


class UnableToTakeOut(ValueError):
    """The code is no longer as the guard knows it."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One place of the code: this text, which is in the file once, becomes that one."""

    path: str
    was: str
    becomes: str

    def made(self, text: str) -> str:
        """The text of the file with the edit made; raises UnableToTakeOut."""
        if (count := text.count(self.was)) != 1:
            raise UnableToTakeOut(
                f"{self.path} holds {self.was!r} {count} times, not once: write anew what is taken out, in "
                "tests/faults/guards/table.py."
            )
        return text.replace(self.was, self.becomes)


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What holds against the fault of an experiment; without it one of ``breaks`` at least must be violated."""

    experiment: int
    name: str  # what it is that holds
    without: str  # what happens where it is missing
    breaks: frozenset[str]
    edits: tuple[Edit, ...]
