"""``python -m benchmarks.service.pages``: what each page and each GET of the API costs with 20,000 datasets.

On SQLite and on a private MariaDB; ``--datasets 200 --only scores`` for a quick look, ``--docs`` writes
docs/benchmarks.md.
"""

import sys

from .private import run_beside, run_embedded

MODULE = "benchmarks.service.inside.pages"

if __name__ == "__main__":
    sys.exit(run_embedded(MODULE, sys.argv[1:]) or run_beside(MODULE, sys.argv[1:]))
