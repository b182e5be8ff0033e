"""From the tests of a dataset to those that templates make of it (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from .made import Lack, MadeTest, Making


@dataclass(frozen=True, kw_only=True)
class StandingTest:
    """A test of the dataset as it stands; ``made`` is what it would be if a template made it as it is."""

    id: int
    made: MadeTest  # its template is empty where none makes it
    is_standard: bool = False
    source: str = ""  # where it is written; empty: by page or API
    is_retired: bool = False
    is_leaving: bool = False  # gone from its source, or no longer made

    @property
    def is_free(self) -> bool:
        """Whether its name may be taken over, with its results."""
        return not self.is_standard and (self.is_retired or self.is_leaving or bool(self.made.template))


@dataclass(frozen=True, kw_only=True)
class MadeChange:
    """A test that stands, and what it should be."""

    standing: StandingTest
    made: MadeTest


@dataclass(frozen=True, kw_only=True)
class MadeChanges:
    """What to do; ``take`` also has tests that were retired or leaving, which live again."""

    make: tuple[MadeTest, ...] = ()
    take: tuple[MadeChange, ...] = ()
    leave: tuple[StandingTest, ...] = ()  # no longer made: their grace begins
    lacks: tuple[Lack, ...] = ()


def made_changes(standing: Sequence[StandingTest], making: Making) -> MadeChanges:
    """What turns the tests there are into those that are made; a test that people wrote is never touched."""
    known = {each.made.name.casefold(): each for each in standing} | {each.made.name: each for each in standing}
    make: list[MadeTest] = []
    take: list[MadeChange] = []
    lacks = list(making.lacks)
    kept: set[int] = set()
    for test in making.tests:
        row = known.get(test.name) or known.get(test.name.casefold())
        if row is None:
            make.append(test)
        elif why := _clash(row, test):
            lacks.append(Lack(template=test.template, category=test.category, reason=why))
        else:
            kept.add(row.id)
            if row.is_retired or row.is_leaving or row.made != test:
                take.append(MadeChange(standing=row, made=test))
    over = (each for each in standing if each.made.template and each.id not in kept)
    leave = tuple(each for each in over if not (each.is_retired or each.is_leaving))
    return MadeChanges(make=tuple(make), take=tuple(take), leave=leave, lacks=tuple(lacks))


def _clash(row: StandingTest, test: MadeTest) -> str | None:
    """Why a test that stands keeps its name; None where the template may take it."""
    if row.is_standard:
        return f"{test.name!r} is the name of a standard test: give the template another name"
    if not row.is_free:
        where = f"in the source {row.source!r}" if row.source else "by page or API"
        return f"a test {test.name!r} was written {where}: give the template another name, or retire that test first"
    if row.made.category != test.category:  # its standings and incidents are of the old one
        return f"a test {test.name!r} was of the category {row.made.category}: give the template another name"
    return None
