"""Who runs a command, for the audit."""

import getpass
import socket

from assay.accounts.audit import Origin


def command_origin() -> Origin:
    """The account of the machine that runs it."""
    return Origin(actor=f"{_account()}@{socket.gethostname()}", via="command")


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "nobody"
