"""What runs, for people."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from .fleet import Fleet
from .process import Process


def table(processes: Iterable[Process]) -> Table:
    """Every process with its id, what it does, how often it was started again, and its log."""
    shown = Table("process", "pid", "state", "restarts", "log")
    for each in processes:
        shown.add_row(each.name, str(each.pid), each.state.value, str(each.restarts), str(each.log))
    return shown


def welcome(console: Console, fleet: Fleet) -> None:
    """Where everything is, and how to run a command of ours beside it."""
    console.print(table(fleet.processes.values()))
    console.print(f"Dashboard and API: {fleet.web_url}")
    console.print("For commands such as `assay doctor` in another shell:", highlight=False)
    console.print(f"  export ASSAY_HOME={fleet.home} ASSAY_SECRETS_DIR={fleet.secrets}", soft_wrap=True)
