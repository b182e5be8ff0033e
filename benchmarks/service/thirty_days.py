"""``python -m benchmarks.service.thirty_days``: 100,000 runs a day for thirty days, of which retention keeps seven.

``--runs 2000 --days 10`` for a quick look; ``--docs`` writes docs/benchmarks.md.
"""

import sys

from .private import run_beside

if __name__ == "__main__":
    sys.exit(run_beside("benchmarks.service.inside.thirty_days", sys.argv[1:]))
