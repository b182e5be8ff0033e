"""Who runs a command, for the audit."""

import getpass
import socket

from assay.accounts.audit import RequestOrigin


def command_origin() -> RequestOrigin:
    """The account of the machine that runs it."""
    return RequestOrigin(actor=f"{_account()}@{socket.gethostname()}", via="command")


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "nobody"
