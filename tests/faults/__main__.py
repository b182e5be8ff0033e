"""``python -m tests.faults``: stage the faults, and say what held. ``--help`` lists the options."""

import os
import signal
import sys
import tempfile

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no process is left behind
    with tempfile.TemporaryDirectory(prefix="faults-home-") as home:
        os.environ["ASSAY_HOME"] = home  # the services have databases of their own
        django.setup()

        from tests.faults.runner import main

        code = main(sys.argv[1:])
    sys.exit(code)
