"""``python -m benchmarks.service.largest``: the largest requests, on SQLite and MariaDB, a gate asked meanwhile.

``--docs`` writes docs/benchmarks.md.
"""

import sys

from .private import run_beside, run_embedded

MODULE = "benchmarks.service.inside.largest"

if __name__ == "__main__":
    sys.exit(run_embedded(MODULE, sys.argv[1:]) or run_beside(MODULE, sys.argv[1:]))
