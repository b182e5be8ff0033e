"""The ``assay`` command: a front of the management commands that live in the packages they belong to."""

import gc
import os
import sys
from contextlib import suppress
from importlib.metadata import version
from tempfile import TemporaryDirectory

from .exit_codes import ExitCode

DEMO_HOME = ".assay/demo"

USAGE = """usage: assay COMMAND [options]

  demo               watch 28 days of real data being caught, healed and measured
  up                 everything in one process for one machine: stages, API and dashboard
  init FOLDER        write a catalog of the tables that lie in a folder
  sync PATH          read the catalog from a YAML file or a folder of them, and reconcile the tests
  plan PATH          show as a diff what `sync` would change, and change nothing
  onboard NAME       make datasets of tables that sources name, with what they are made of, by a plan first
  templates          list the rules that are written once, and the tests that each makes of many datasets
  onboard NAME       make datasets of tables that catalogs, events or queries name, with all that they are made of
  run DATASET        run the tests of a dataset now, or those of many datasets over their past
  verify TABLE       check a table against a file of checks: no server, no database
  split TABLE        write the rows that break checks to one folder, and all others to another
  profile TABLE      describe each column of a table or file, and what looks odd in it
  suggest TABLE      say what to test of a table or file, by its past
  novelty TABLE      say which windows of a table are unlike those before them, and why
  drift TABLE        say how far each column is from a reference, or from the windows before
  challenge TABLE    spoil copies of a table's last windows: what would its tests catch, and what is missed?
  backtest DATASET   what would a test have raised over the past? It opens nothing
  gate DATASET…      may a pipeline read these datasets over a window?
  completed PIPELINE  say what a pipeline has written: its tests run at once
  publish DATASET    move a pointer to data that was audited, and to no other
  claim DATASET TEXT  say that data is bad: Assay tells its owner
  export TABLE       write runs, measurements or incidents of a range to a CSV or Parquet file
  report             precision, recall and quality over a range of time
  digest TEAM        the week of a team, as it is told by mail: quality, incidents, gaps, slow tables, noisy tests
  doctor             find what is wrong with this installation, and how to repair it
  sweep              the scheduler of the service: tell the workers what is pending
  member USER        show or set the role of a user: viewer, owner, producer, operator or admin
  changepassword USER  set a new password
  token              make, list and revoke tokens for services
  migrate            create or upgrade the database of a service; the embedded one upgrades itself

`assay COMMAND --help` lists the options. Exit codes: 0 held, 1 failed, 2 warnings only, 3 could not be done.
"""


# A command leaves little garbage: to look for it was a tenth of a short one, and a third of a plan of 20,000 datasets.
GC_THRESHOLD = (100_000, 20, 20)
NOT_READ = "assay: the reader of this output stopped before its end: this exit code says nothing about the data"


def main() -> None:
    """Run one command and exit with its code; ``UNABLE`` where nobody reads what it prints."""
    gc.set_threshold(*GC_THRESHOLD)
    code: int = ExitCode.UNABLE
    try:
        code = answered(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        code, nowhere = ExitCode.UNABLE, os.open(os.devnull, os.O_WRONLY)
        with suppress(BrokenPipeError):  # the reader of both, as of `2>&1 | head`
            print(NOT_READ, file=sys.stderr, flush=True)
        for written in (sys.stdout, sys.stderr):
            os.dup2(nowhere, written.fileno())  # as Python flushes once more when it ends
    sys.exit(code)


def answered(arguments: list[str]) -> int:
    """Answer one command line; its exit code."""
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(USAGE, end="")
        return ExitCode.HELD if arguments else ExitCode.UNABLE
    if arguments[0] == "--version":
        print(f"assay {version('assay')}")
        return ExitCode.HELD
    if {"-h", "--help"} & set(arguments):
        with TemporaryDirectory() as home:  # settings make a folder and a key: who only asks for help, keeps neither
            os.environ |= {"ASSAY_HOME": home, "ASSAY_DATABASE_URL": ""}
            return run(arguments)
    return run(arguments)


def run(arguments: list[str]) -> int:
    """Run a management command by its name; its exit code. Whatever keeps it from running is ``UNABLE``."""
    if arguments[0] == "demo":
        os.environ.setdefault("ASSAY_HOME", DEMO_HOME)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    import django
    from django.core.management import ManagementUtility, get_commands, load_command_class
    from django.db import DatabaseError

    from assay.config import UnableToKeepKey, UnableToReadSettings

    try:
        django.setup()
    except (OSError, UnableToKeepKey, UnableToReadSettings) as error:
        print(f"assay: {error}", file=sys.stderr)
        return ExitCode.UNABLE
    from assay.database.storage_errors import of_storage

    from .command import UnableToMigrate, bring_up_to_date

    if (package := get_commands().get(arguments[0])) is None:
        print(f"assay: no command {arguments[0]!r}; `assay --help` lists them", file=sys.stderr)
        return ExitCode.UNABLE
    try:
        if load_command_class(package, arguments[0]).requires_migrations_checks:  # Django's own, as changepassword
            bring_up_to_date()
        ManagementUtility(["assay", *arguments]).execute()
    except BrokenPipeError:
        raise
    except (DatabaseError, OSError, UnableToMigrate) as error:
        print(f"assay: {error if isinstance(error, UnableToMigrate) else of_storage(error)}", file=sys.stderr)
        return ExitCode.UNABLE
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ExitCode.UNABLE
    return ExitCode.HELD
