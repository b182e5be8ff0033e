"""``python -m benchmarks.service.sync``: what a catalog of 20,000 datasets with 80,000 edges costs to plan and to sync.

On SQLite and on a private MariaDB; ``--datasets 500 --edges 2000`` for a quick look, ``--docs`` writes
docs/benchmarks.md.
"""

import sys

from .private import run_beside, run_embedded

MODULE = "benchmarks.service.inside.sync"

if __name__ == "__main__":
    sys.exit(run_embedded(MODULE, sys.argv[1:]) or run_beside(MODULE, sys.argv[1:]))
