"""What a dataset's tier promises where its own metadata says nothing: 0 is critical, 5 hardly matters."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Severity = Literal["hard", "soft"]
CatchUp = Literal["latest", "all", "none"]  # which slots that an outage swallowed are run after it


@dataclass(frozen=True)
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


H, M = timedelta(hours=1), timedelta(minutes=1)
# fmt: off
TIERS = (
    # tier  fresh complete duplic. consist.  sustain    grace  severity  catch-up coverage closed novelty
    Tier(0,  2 * H,  0.999,  0.0,    0.999,   0 * H,  15 * M,  "hard",     "all",     1.0,   True,   True),
    Tier(1,  4 * H,  0.999,  0.0,    0.999,   1 * H,  30 * M,  "hard",     "all",     1.0,   True,   True),
    Tier(2,  6 * H,  0.995,  0.001,  0.995,   4 * H,  60 * M,  "hard",  "latest",     0.9,  False,   True),
    Tier(3, 12 * H,  0.99,   0.001,  0.99,    4 * H, 120 * M,  "soft",  "latest",     0.8,  False,   True),
    Tier(4, 24 * H,  0.98,   0.005,  0.98,   24 * H, 240 * M,  "soft",  "latest",     0.5,  False,   True),
    Tier(5, 48 * H,  0.95,   0.01,   0.95,   24 * H, 240 * M,  "soft",  "latest",     0.0,  False,  False),
)
# fmt: on
