"""Statements that must touch their canary once Spark's own settings are off: they prove that each detector works."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.fuzz.guard_sandbox import Sandbox

SECONDS = 60.0  # for one: the first in a Spark takes longest
CONTROLS: tuple[tuple[str, str], ...] = (
    ("file", "select * from text.`/etc/passwd`"),
    ("file", "select 1 where exists (select * from text.`/etc/passwd`)"),  # read, but not shown
    ("table", "select value from secret"),
    ("table", "select max(length(value)) from secret"),
    ("environment", "select reflect('java.lang.System', 'getenv', 'HOME')"),
    ("environment", "select '${env:DB_PASSWORD}'"),
    ("environment", "select transform(trip_id) using 'id' as (x string) from trips"),
    ("user", "select current_user()"),
    ("path", "select input_file_name() from trips"),
    ("folder", "insert overwrite directory '/tmp/assay-was-here' using csv select 1"),
    ("setting", "set spark.sql.ansi.enabled = false"),
    ("catalog", "create temporary view v as select 1"),
    ("catalog", "drop table secret"),
    ("port", "add jar 'http://127.0.0.1:9/x.jar'"),  # last, as Spark must be started anew after it
    ("port", "add jar 'http://assay.invalid/x.jar'"),  # a call to any machine ends there
)


@dataclass(kw_only=True)
class Controls:
    """How many controls of each kind touched their canary, and which did not, with what they gave instead."""

    alive: Counter[str] = field(default_factory=Counter)
    dead: dict[str, str] = field(default_factory=dict)


def run_controls(sandbox: Sandbox, tell: Callable[[int, int], None]) -> Controls:
    """What each control, run as it is, did in the sandbox; ``tell`` hears how many are done, of how many."""
    found = Controls()
    for count, (kind, sql) in enumerate(CONTROLS, 1):
        told = sandbox.run(sql, SECONDS, fresh=True)
        if kind in told.touched:
            found.alive[kind] += 1
        else:
            found.dead[sql] = told.text.partition("\n")[0]
        tell(count, len(CONTROLS))
    return found


def of_each_kind() -> Mapping[str, int]:
    """The number of controls of each kind."""
    return Counter(kind for kind, _ in CONTROLS)
