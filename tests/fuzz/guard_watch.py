"""Files that nothing may read or change: the kernel tells when one was opened, even if nothing of it was shown."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from inotify_simple import INotify, flags

EVENTS = flags.OPEN | flags.MODIFY | flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO


@dataclass(kw_only=True)
class Watch:
    """``files`` lists them each time anew, as some may come or go; their folders are watched."""

    files: Callable[[], Iterable[Path]]
    _inotify: INotify = field(default_factory=lambda: INotify(nonblocking=True))
    _folders: dict[int, Path] = field(default_factory=dict)
    _known: set[Path] = field(default_factory=set)

    def start(self) -> None:
        """Forgets what was read or changed before."""
        self._opened()
        self._known = set(self.files())
        for folder in {path.parent for path in self._known} - set(self._folders.values()):
            self._folders[self._inotify.add_watch(folder, EVENTS)] = folder

    def touched(self) -> frozenset[Path]:
        """What was opened, changed, made or removed since the start."""
        return frozenset(self._opened() & (self._known | set(self.files())))

    def _opened(self) -> set[Path]:
        found: set[Path] = set()
        for event in self._inotify.read(timeout=0):
            if event.mask & flags.IGNORED:  # the folder is gone
                self._folders.pop(event.wd, None)
            elif event.wd in self._folders and not event.mask & flags.ISDIR:
                found.add(self._folders[event.wd] / event.name)
        return found
