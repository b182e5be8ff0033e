"""Whether the database has the tables of this version; the embedded one is brought there by the command that asks."""

import fcntl
from pathlib import Path
from pkgutil import iter_modules

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder


class UnableToMigrate(Exception):
    """The tables are of another version, and they are not ours to change."""


def missing_migrations() -> int:
    """How many migrations the database still lacks."""
    homes = {app.label: Path(app.path) / "migrations" for app in apps.get_app_configs()}
    shipped = {(label, each.name) for label, home in homes.items() for each in iter_modules([str(home)])}
    if shipped <= set(MigrationRecorder(connection).applied_migrations()):
        return 0  # found by their names: to import all of them takes longer than most commands
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def bring_up_to_date() -> None:
    """Migrate the embedded database where it lacks anything; raises UnableToMigrate for that of a server.

    A server's database is shared, and the account that runs the service may not change its tables.
    """
    if not (missing := missing_migrations()):
        return
    if connection.vendor != "sqlite":
        raise UnableToMigrate(
            f"the database lacks {missing} migrations: run `assay migrate` as the owner of its tables"
        )
    with Path(f"{connection.settings_dict['NAME']}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two commands on a new home the second waits, and finds nothing missing
        if missing_migrations():
            call_command("migrate", verbosity=0)
