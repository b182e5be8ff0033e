"""``python -m benchmarks.service.latency``: look-ups and the catalogue over HTTP, with the rows of years behind them.

``--runs 100000 --incidents 20000 --requests 400`` for a quick look; ``--docs`` writes docs/benchmarks.md.
"""

import sys

from .private import run_beside

if __name__ == "__main__":
    sys.exit(run_beside("benchmarks.service.inside.latency", sys.argv[1:]))
