"""What a database or a disk that fails means for who runs a command: which file, what is wrong, how to mend it."""

import errno

from django.db import DatabaseError, InterfaceError, OperationalError, connection

DAMAGED = (
    "{file} is damaged ({error}): stop every program that uses it, move it aside with its -wal and -shm files, and put "
    "a copy of it back; without a copy, `sqlite3 {file} .recover | sqlite3 recovered.db` saves what can be read"
)
FULL = "no space is left for {file} ({error}): make room on its disk, and try again; what was being written is undone"
MENDS = {
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_FULL": FULL,
    "SQLITE_READONLY": "{file} may not be written ({error}): give this user the right to write it and its folder",
    "SQLITE_CANTOPEN": "{file} cannot be opened ({error}): give this user the right to write it and its folder",
    "SQLITE_IOERR": "the disk of {file} fails ({error}): see that it has room, and what the system's log says of it",
    "SQLITE_BUSY": "others kept {file} busy ({error}): try again, or stop what writes to it for so long",
}
# of MariaDB and MySQL: no connection, too many, shut down or ended, and a lock that was not given in time
UNAVAILABLE = frozenset(
    {1040, 1053, 1080, 1152, 1158, 1159, 1160, 1161, 1205, 1213, 1927, 2002, 2003, 2006, 2013, 2055}
)
BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database is away or busy for a while, so that the same request may succeed later."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    name = getattr(error.__cause__, "sqlite_errorname", "")
    return name.startswith(BUSY) or bool(error.args and error.args[0] in UNAVAILABLE)


def of_database(error: DatabaseError) -> str:
    """The sentence for an error of the database; SQLite's own are told with their file and how to mend them."""
    name = getattr(error.__cause__, "sqlite_errorname", "")
    sentence = next((text for kind, text in MENDS.items() if name.startswith(kind)), "{error}")
    return sentence.format(file=connection.settings_dict["NAME"], error=error)


def of_disk(error: OSError) -> str:
    """The sentence for an error of a file or folder."""
    mend = ": make room on its disk, and try again" if error.errno in DISK_FULL else ""
    return f"{error.filename or 'a file'}: {error.strerror or error}{mend}"


def of_storage(error: DatabaseError | OSError) -> str:
    """The sentence for either."""
    return of_database(error) if isinstance(error, DatabaseError) else of_disk(error)
