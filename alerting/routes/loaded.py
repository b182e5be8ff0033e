"""The routes of this process: read when they are first asked for, and again when their file has changed."""

from functools import lru_cache
from pathlib import Path

import structlog

from assay.config import config

from .route_file import UnableToReadRoutes, read_routes
from .rules import Route, Routes

log = structlog.get_logger(__name__)


def routes() -> Routes:
    """The routes in force: of a file that is wrong the last ones that were right, or none."""
    path = config().routes
    if path is None:
        return Routes()
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        log.error("routes cannot be read", path=str(path), why=str(error))
        return _last_right.get(path, Routes())


def route_of(recipient: str, team: str = "") -> Route | None:
    """The route of a recipient on behalf of a team, if there is one."""
    return routes().of(recipient, team)


_last_right: dict[Path, Routes] = {}


@lru_cache(maxsize=4)
def _read(path: Path, changed_at: int, size: int) -> Routes:
    """By what the file was like, so that it is read once for each of its versions."""
    try:
        _last_right[path] = read_routes(path)
    except UnableToReadRoutes as wrong:
        log.error("routes refused", why=str(wrong))
    return _last_right.get(path, Routes())
