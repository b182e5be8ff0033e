"""The values of a metric measured ``by`` columns, one for each group: the state that such a measurement leaves.

A header line of JSON (version, columns, size, checksum), then one line of JSON with the keys column by column and the
values. ``NaN`` and ``Infinity`` are written as Python's json writes them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256

from execution_engine.exact import Number, from_json, to_json
from execution_engine.outcome import Failure, Reason

VERSION = 1
MAX_GROUPS = 100_000
MAX_BYTES = 64 * 1024 * 1024

GroupKey = tuple[str | None, ...]  # one text for each column of ``by``; None: the rows where it is null


class UnableToReadGroups(ValueError):
    """The bytes are no groups."""


@dataclass(frozen=True, kw_only=True)
class GroupValues:
    """A metric's value for each group; None where it is NULL."""

    columns: tuple[str, ...]
    groups: Mapping[GroupKey, Number | None]

    def to_bytes(self) -> bytes:
        """The bytes that ``from_bytes`` reads back to equal groups."""
        keys = [list(column) for column in zip(*self.groups, strict=True)] or [[] for _ in self.columns]
        body = json.dumps({"keys": keys, "values": list(map(to_json, self.groups.values()))}).encode()
        header = {
            "assay_groups": VERSION,
            "columns": self.columns,
            "size": len(self.groups),
            "checksum": sha256(body).hexdigest(),
        }
        return json.dumps(header).encode() + b"\n" + body

    @classmethod
    def from_bytes(cls, state: bytes) -> "GroupValues":
        """The groups that ``to_bytes`` wrote; raises UnableToReadGroups for anything else."""
        if len(state) > MAX_BYTES:
            raise UnableToReadGroups(f"the groups have {len(state)} bytes, more than {MAX_BYTES}: group by less")
        first, _, rest = state.partition(b"\n")
        try:
            header = json.loads(first)
            if header["assay_groups"] != VERSION or header["checksum"] != sha256(rest).hexdigest():
                raise UnableToReadGroups(f"the groups are cut, damaged or not of version {VERSION}: measure them again")
            body, columns = json.loads(rest), tuple(header["columns"])
            keys, values = body["keys"], list(map(from_json, body["values"]))
            groups = dict(zip(zip(*keys, strict=True), values, strict=True))
            texts = all(part is None or isinstance(part, str) for column in keys for part in column)
            numbers = all(value is None or isinstance(value, int | float | Decimal) for value in groups.values())
            sizes = len(keys) == len(columns) and len(groups) == header["size"] <= MAX_GROUPS
        except UnableToReadGroups:
            raise
        except (ValueError, TypeError, KeyError, RecursionError, ArithmeticError) as error:
            raise UnableToReadGroups(f"the bytes are no groups ({error!r}): measure them again") from error
        if not (texts and numbers and sizes):
            raise UnableToReadGroups("the groups do not fit their header: measure them again")
        return cls(columns=columns, groups=groups)


def too_many_groups(columns: Sequence[str], count: int | None = None) -> Failure:
    """The failure of a measurement with more than ``MAX_GROUPS`` groups; ``count``: how many, where it is known."""
    counted = "more" if count is None else f"{count:,}"
    return Failure(
        reason=Reason.INVALID,
        detail=f"by {', '.join(columns)} makes {counted} groups, and {MAX_GROUPS:,} are the limit: group by fewer "
        f"columns or coarser ones, or test fewer rows with where=",
    )
