"""A repository in one file of JSON lines: each run is one line, appended at once."""

import fcntl
import json
import os
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from execution_engine.exact import number_of, to_json

from .metrics import ResultKey, StoredMetrics, merged, ordered


class UnableToReadRepository(ValueError):
    """A line of the file of a ``FileRepository`` is no run. The message names the file and the line.

    Example:
        >>> _ = (folder / "broken.jsonl").write_text("[]" + chr(10))
        >>> FileRepository(folder / "broken.jsonl").load()
        Traceback (most recent call last):
        execution_engine.verification.repository.repository_file.UnableToReadRepository: ...broken.jsonl:1: it is no ...
    """


@dataclass(frozen=True)
class FileRepository:
    """Keeps the metrics of runs in a file of JSON lines, one line for each run.

    Lines are only ever added, and of several with one key the later win. Several processes may write at once.

    Parameters:
        path: the file. It is made, with its folder, by the first ``save``.

    Errors: none.

    Example:
        >>> repository = FileRepository(folder / "metrics.jsonl")
    """

    path: Path | str

    def save(self, stored: StoredMetrics) -> None:
        """Appends one line under a lock. The line is on disk when this returns.

        Errors:
            OSError: the file cannot be written.

        Example:
            >>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10}))
        """
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(_confirmed(path.read_bytes()))
            values = {name: to_json(value) for name, value in stored.values.items()}
            told = {"at": stored.key.at.isoformat(), "tags": dict(stored.key.tags), "values": values}
            file.write((json.dumps(told, sort_keys=True) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())

    def load(self) -> list[StoredMetrics]:
        """Returns every run, in the order of the dates, as a list; an empty one where there is no file.

        Errors:
            UnableToReadRepository: a line is no run.
            OSError: the file cannot be read.

        Example:
            >>> [run.values["row_count()"] for run in repository.load()]
            [10.0]
        """
        path = Path(self.path)
        content = path.read_bytes() if path.exists() else b""
        kept: dict[ResultKey, StoredMetrics] = {}
        for number, line in enumerate(content[: _confirmed(content)].splitlines(), start=1):
            stored = _read(line, f"{path}:{number}")
            kept[stored.key] = merged(kept.get(stored.key), stored)
        return ordered(kept)


def _confirmed(content: bytes) -> int:
    """How many bytes were written whole; what a crash left behind the last line's end never counted."""
    return content.rfind(b"\n") + 1


def _read(line: bytes, where: str) -> StoredMetrics:
    try:
        told = json.loads(line)
        key = ResultKey.of(datetime.fromisoformat(told["at"]), **told["tags"])
        return StoredMetrics(
            key=key,
            values={
                str(name): number_of(Decimal(value)) if isinstance(value, str) else float(value)
                for name, value in told["values"].items()
            },
        )
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise UnableToReadRepository(f"{where}: it is no run of metrics ({error!r}); mend or delete the line") from None
