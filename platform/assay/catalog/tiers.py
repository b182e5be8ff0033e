"""What a dataset's tier promises where its own metadata says nothing: 0 is critical, 5 hardly matters."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Severity = Literal["hard", "soft"]
CatchUp = Literal["latest", "all", "none"]  # which slots that an outage swallowed are run after it


@dataclass(frozen=True, kw_only=True)
class Tier:
    """The defaults of one tier. Shares run from 0 to 1."""

    level: int
    freshness: timedelta  # a partition is complete so long after its end
    completeness: float  # least share of the upstream's rows
    duplicates: float  # largest share of rows whose primary key is not their own
    consistency: float  # least share of the rows or keys that another datacenter has too
    sustain: timedelta  # how long a test may stay broken before it is an incident
    grace: timedelta  # how long an alert waits before it tells the owner
    severity: Severity  # hard tests block pipelines, soft ones only tell
    catch_up: CatchUp  # after an outage
    coverage: float  # share of the standard tests that should be live
    fail_closed: bool  # whether a gate that has no verdict blocks
    novelty: bool  # whether each partition is compared with those before, without a rule


def _tier(
    level: int,
    freshness_hours: int,
    completeness: float,
    duplicates: float,
    consistency: float,
    sustain_hours: int,
    grace_minutes: int,
    severity: Severity,
    catch_up: CatchUp,
    coverage: float,
    fail_closed: bool,
    novelty: bool,
) -> Tier:
    return Tier(
        level=level,
        freshness=timedelta(hours=freshness_hours),
        completeness=completeness,
        duplicates=duplicates,
        consistency=consistency,
        sustain=timedelta(hours=sustain_hours),
        grace=timedelta(minutes=grace_minutes),
        severity=severity,
        catch_up=catch_up,
        coverage=coverage,
        fail_closed=fail_closed,
        novelty=novelty,
    )


# fmt: off
TIERS = (
    #  tier  fresh h  complete  duplic.  consist.  sustain h  grace min  severity  catch-up   coverage   closed novelty
    _tier(0,       2,    0.999,   0.0,     0.999,         0,        15,   "hard",     "all",     1.0,    True,    True),
    _tier(1,       4,    0.999,   0.0,     0.999,         1,        30,   "hard",     "all",     1.0,    True,    True),
    _tier(2,       6,    0.995,   0.001,   0.995,         4,        60,   "hard",  "latest",     0.9, False,    True),
    _tier(3,      12,    0.99,    0.001,   0.99,          4,       120,   "soft",  "latest",     0.8, False,    True),
    _tier(4,      24,    0.98,    0.005,   0.98,         24,       240,   "soft",  "latest",     0.5, False,    True),
    _tier(5,      48,    0.95,    0.01,    0.95,         24,       240,   "soft",  "latest",     0.0, False,   False),
)
# fmt: on
