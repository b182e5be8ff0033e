"""The ``assay`` command: a front of the management commands that live in the packages they belong to."""

import os
import sys
from importlib.metadata import version

from assay.exit_codes import ExitCode

DEMO_HOME = ".assay/demo"

USAGE = """usage: assay COMMAND [options]

  demo               watch 28 days of real data being caught, healed and measured
  up                 everything in one process for one machine: stages, API and dashboard
  sync FILE          read the catalog from YAML and reconcile the tests
  plan FILE          what `sync` would change, without changing it
  run DATASET        run the tests of a dataset now
  verify TABLE       check a table against a file of checks: no server, no database
  gate DATASET…      may a pipeline read these datasets over a window?
  report             precision, recall and quality over a range
  doctor             find what is wrong with this set-up, and how to mend it
  sweep              the scheduler of the service: send hints for whatever is pending
  member USER        who somebody is here: viewer, owner, producer, operator or admin
  token              make, list and revoke tokens for services
  migrate            create or upgrade the database

`assay COMMAND --help` tells the options. Exit codes: 0 held, 1 failed, 2 warnings only, 3 could not be done.
"""


def main() -> None:
    """Run one command and exit with its code."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(USAGE, end="")
        sys.exit(ExitCode.HELD if arguments else ExitCode.UNABLE)
    if arguments[0] == "--version":
        print(f"assay {version('assay')}")
        sys.exit(ExitCode.HELD)
    sys.exit(run(arguments))


def run(arguments: list[str]) -> int:
    """Run a management command by its name; its exit code. Whatever keeps it from running is ``UNABLE``."""
    if arguments[0] == "demo":
        os.environ.setdefault("ASSAY_HOME", DEMO_HOME)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    import django
    from django.core.management import ManagementUtility, get_commands

    django.setup()
    if arguments[0] not in get_commands():
        print(f"assay: no command {arguments[0]!r}; `assay --help` lists them", file=sys.stderr)
        return ExitCode.UNABLE
    try:
        ManagementUtility(["assay", *arguments]).execute()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ExitCode.UNABLE
    return ExitCode.HELD
