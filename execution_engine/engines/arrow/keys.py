"""Keys of small files, read by the kernels in this process, as one task; what these cannot tell is Spark's."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from execution_engine.engines.native.keys.gathering import (
    Distinct,
    Lowest,
    Named,
    Take,
    among_texts,
    lowest_of,
    texts_in,
    there_of,
)
from execution_engine.engines.native.keys.measures import (
    OF_KEYS,
    Missed,
    Pulled,
    filter_of_pulled,
    missed_of_pulled,
    pulled_of,
    shape_of,
)
from execution_engine.engines.native.keys.program import key_program, parts_of
from execution_engine.engines.native.keys.task import tell
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.keys.bits import Hashes
from execution_engine.metrics.keys.buckets import Buckets
from execution_engine.metrics.keys.digest import KeyDigest, digest_of_hashes
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.metrics.keys.filter_shape import Format
from execution_engine.read_by import Left, ReadBy

from .rows import Rows


def measured_alone(rows: Rows, wanted: Sequence[Wanted], write: Expressions) -> tuple[dict[str, Measured], ReadBy]:
    """The metrics of keys, by their keys, and who read them; UnableToTell where one is Spark's."""
    readers = {item.key: KeysHere(rows=rows, write=write) for item in wanted}
    measured = {item.key: OF_KEYS[item.spec.name](readers[item.key], item) for item in wanted}
    if rows.footers.rows == 0:
        return measured, ReadBy(footers=len(wanted))
    return measured, ReadBy(kernels=sum(bool(reader.taken) for reader in readers.values()))


@dataclass(frozen=True, kw_only=True)
class KeysHere:
    """The keys of a few rows, as ``native.keys.measures.KeyReader`` has them; UnableToTell where they are Spark's."""

    rows: Rows
    write: Expressions
    taken: list[Take] = field(default_factory=list)  # what was read of the rows

    @property
    def name(self) -> str:
        return self.rows.name

    @property
    def columns(self) -> Collection[str]:
        return self.rows.columns

    def row_count(self) -> int:
        return self.rows.footers.rows

    def digest(self, item: Wanted) -> KeyDigest:
        pulled = self._pulled(item)
        return digest_of_hashes(item.spec.columns, pulled.hashes, pulled.rows)

    def built(self, item: Wanted, *, keys: int, counted: bool = False, buckets: Buckets | None = None) -> KeyFilter:
        shape = shape_of(item.spec, keys)
        _check_ours(shape.format)
        return filter_of_pulled(item.spec.columns, shape, self._pulled(item, buckets), buckets)

    def missed(self, item: Wanted, shipped: KeyFilter, own_keys: int | None) -> Missed:
        _check_ours(shipped.shape.format)
        return missed_of_pulled(shipped, self._pulled(item, shipped.buckets).hashes)

    def texts(self, item: Wanted, hashes: Hashes) -> list[str]:
        return texts_in(self._gathered(item, Named(hashes=tuple(sorted(hashes.tolist())))))

    def lowest(self, item: Wanted, size: int) -> list[str]:
        return lowest_of(self._gathered(item, Lowest(size=size)), size)

    def there(self, columns: Sequence[str], texts: Sequence[str]) -> set[str]:
        return there_of(self._of_columns(columns, None, among_texts(texts)), texts)

    def _pulled(self, item: Wanted, buckets: Buckets | None = None) -> Pulled:
        return pulled_of(self._gathered(item, Distinct(buckets=None if buckets is None else buckets.numbers)))

    def _gathered(self, item: Wanted, take: Take) -> list[Any]:
        return self._of_columns(item.spec.columns, item.spec.where, take)

    def _of_columns(self, columns: Sequence[str], where: str | None, take: Take) -> list[Any]:
        """What one task found, as a list; nothing of no rows."""
        if not self.rows.footers.rows:
            return []
        condition = None if where is None else self.write.condition(where)
        program = key_program(columns, condition, take, self.rows.stored)
        found = program if isinstance(program, Left) else parts_of([tell(program, self.rows.pieces)])
        if isinstance(found, Left):
            raise UnableToTell(found.why)
        self.taken.append(take)
        return found


def _check_ours(format_: Format) -> None:
    if format_ is Format.PYBLOOM:
        raise UnableToTell("pybloom_live's digests are Spark's to make")
