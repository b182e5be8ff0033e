"""``python -m tests.faults``: stage the faults, and say what held. ``--help`` lists the options."""

import os
import signal
import sys
import tempfile

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    os.environ["ASSAY_HOME"] = tempfile.mkdtemp(prefix="faults-")  # the services have databases of their own
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no process is left behind
    django.setup()

    from tests.faults.runner import main

    sys.exit(main(sys.argv[1:]))
