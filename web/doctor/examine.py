"""Every check, in the order in which its finding helps."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from django.db import DatabaseError

from .catalog import catalog, names, pulled, replicas
from .database import clock_skew, database, intact, migrations, server, unreachable
from .finding import Finding
from .machine import disk, home, java, states
from .outside import heartbeat, reach, routes
from .redis import broker, redis
from .work import datacenters, engines, failing, leases, notices, quarantined, scheduling, waiting

Check = Callable[[], Finding]

MACHINE_CHECKS: tuple[Check, ...] = (java, broker, redis, home, states, disk, reach, routes, heartbeat)
# what needs a database that answers, and what needs one that is up to date
SERVER_CHECKS: tuple[Check, ...] = (intact, server, clock_skew)
TABLE_CHECKS: tuple[Check, ...] = (
    catalog,
    names,
    pulled,
    replicas,
    scheduling,
    failing,
    waiting,
    datacenters,
    engines,
    leases,
    notices,
    quarantined,
)


def examine() -> Iterator[Finding]:
    """Every check's finding, the first things first; what rests on something that is ill is not looked at."""
    yield (answers := database())
    if answers.is_well:
        yield (tables := _found(migrations))
    yield from (check() for check in MACHINE_CHECKS)
    if answers.is_well:
        yield from (_found(check) for check in SERVER_CHECKS)
    if answers.is_well and tables.is_well:
        yield from (_found(check) for check in TABLE_CHECKS)


def _found(check: Check) -> Finding:
    """What a check finds; a database that fails under it is the finding, and the other checks go on."""
    try:
        return check()
    except DatabaseError as error:
        return replace(unreachable(error), check=check.__name__)
