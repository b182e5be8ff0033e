"""Files that nothing may read or change: the file system itself tells when one was, even if nothing was shown."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

NEVER = 0  # ns since 1970: even file systems that seldom note a reading note it on a file so long unread
Seen = tuple[int, int, int]  # read at, changed at, bytes


@dataclass(kw_only=True)
class Watch:
    """``files`` lists them each time anew, as some may come or go."""

    files: Callable[[], Iterable[Path]]
    seen: dict[Path, Seen] = field(default_factory=dict)

    def start(self) -> None:
        """Forgets what was read or changed before."""
        for path in self.files():
            os.utime(path, ns=(NEVER, path.stat().st_mtime_ns))
        self.seen = self._now()

    def touched(self) -> frozenset[Path]:
        """What was read, changed, made or removed since the start."""
        now = self._now()
        return frozenset(path for path in now.keys() | self.seen.keys() if now.get(path) != self.seen.get(path))

    def _now(self) -> dict[Path, Seen]:
        stats = {path: path.stat() for path in self.files()}
        return {path: (one.st_atime_ns, one.st_mtime_ns, one.st_size) for path, one in stats.items()}
