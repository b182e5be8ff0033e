"""Assertions held against copies of a window: each copy lies in a folder of its own as long as it is looked at."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.protocol import Engine, Part, ScanReport, Table, Wanted
from execution_engine.verification import (
    Check,
    ConstraintStatus,
    InMemoryRepository,
    ResultKey,
    StoredMetrics,
    VerificationSuite,
)

from .fitness import ALONE, Beside


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One window: its key, and the time that histories are in the order of: that of its start, by the local clock."""

    key: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Something that is asserted of each window; ``check`` writes it down for one of them."""

    name: str
    check: Callable[[Moment], Check]
    has_past: bool = False
    beside: Beside = ALONE
    is_suggested: bool = False


@dataclass(frozen=True, kw_only=True)
class Said:
    """What came of it."""

    status: ConstraintStatus
    message: str

    @property
    def is_known(self) -> bool:
        """Whether it is a statement about the data."""
        return self.status in (ConstraintStatus.SUCCESS, ConstraintStatus.FAILURE)


class _NeedsEngine(Exception):
    """Files alone do not answer it."""


class _NoEngine:
    """Stands where an engine would, to see who asks for one."""

    def scan(self, table: Table, part: Part, wanted: Sequence[Wanted]) -> ScanReport:
        raise _NeedsEngine


class _ReadOnly:
    """The past, in which nothing of a copy is kept."""

    def __init__(self, past: InMemoryRepository) -> None:
        self._past = past

    def save(self, stored: StoredMetrics) -> None:
        """Nothing."""

    def load(self) -> list[StoredMetrics]:
        """Every window of the past."""
        return self._past.load()


Others = Callable[[Beside, Moment], Mapping[str, "Table | Path"]]  # what an assertion reads beside the copy


@dataclass(kw_only=True)
class Verifier:
    """Holds assertions against rows. What needs Spark is told apart once, so that the rest never waits for it."""

    folder: Path  # for the copies; the caller removes it
    table: str
    engine: Engine
    others: Others
    past: InMemoryRepository = field(default_factory=InMemoryRepository)
    _needs_engine: dict[str, bool] = field(default_factory=dict)
    _number: Iterator[int] = field(default_factory=count)

    def said(self, asked: Sequence[Asked], rows: pa.Table, moment: Moment) -> dict[str, Said]:
        """What each says of the rows of a window, given the past."""
        return self._said(asked, rows, moment, joins=False)

    def join(self, asked: Sequence[Asked], rows: pa.Table, moment: Moment) -> None:
        """The rows are part of the past from now on."""
        counted = StoredMetrics(key=_key(moment), values={"row_count()": rows.num_rows})
        self.past.save(counted)
        self._said([each for each in asked if each.has_past], rows, moment, joins=True)

    def _said(self, asked: Sequence[Asked], rows: pa.Table, moment: Moment, *, joins: bool) -> dict[str, Said]:
        if not asked:
            return {}
        path = self.folder / f"copy-{next(self._number)}.parquet"
        pq.write_table(rows, path)
        try:
            groups: dict[tuple[bool, Beside], list[Asked]] = {}
            for each in asked:
                groups.setdefault((self._asks_engine(each, path, moment), each.beside), []).append(each)
            found: dict[str, Said] = {}
            for (_, beside), some in groups.items():
                found |= self._verified(some, path, moment, self.engine, beside, joins=joins)
            return found
        finally:
            path.unlink()

    def _asks_engine(self, asked: Asked, path: Path, moment: Moment) -> bool:
        if asked.name not in self._needs_engine:
            try:
                self._verified([asked], path, moment, _NoEngine(), asked.beside, joins=False)  # type: ignore[arg-type]
                self._needs_engine[asked.name] = False
            except _NeedsEngine:
                self._needs_engine[asked.name] = True
        return self._needs_engine[asked.name]

    def _verified(
        self, asked: Sequence[Asked], path: Path, moment: Moment, engine: Engine, beside: Beside, *, joins: bool
    ) -> dict[str, Said]:
        verification = VerificationSuite(engine=engine).on(path, self.table)
        verification = verification.add_check(*(each.check(moment) for each in asked))
        for name, data in self.others(beside, moment).items():
            verification = verification.with_table(name, data)
        kept = self.past if joins else _ReadOnly(self.past)
        result = verification.use_repository(kept, _key(moment)).run()
        said = [check.constraints[0] for check in result.checks]
        return {each.name: Said(status=one.status, message=one.message) for each, one in zip(asked, said, strict=True)}


def _key(moment: Moment) -> ResultKey:
    return ResultKey.of(moment.at)
