"""13: the receiver of notices is out of order in every way that is known.

Staged: it answers 500, or 429 with Retry-After, or not within the deadline, or resets the connection, or takes the
message and closes without an answer; each for one hour's notices, then it is sound again. Asserted: I1 to I8; what it
has taken without saying so comes again under the same key, and nothing is given up before ten failures.
"""

import socket
import struct
import time
from http.server import BaseHTTPRequestHandler

from alerting.models import Notice
from assay import clock
from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.ledger import Answer, says, takes
from tests.faults.scene import Scene

PATIENCE = 12  # retries after which nothing may be left


def fails(handler: BaseHTTPRequestHandler) -> int:
    """500."""
    return says(handler, 500)


def is_busy(handler: BaseHTTPRequestHandler) -> int:
    """429."""
    return says(handler, 429, Retry_After="1")


def hangs(handler: BaseHTTPRequestHandler) -> int:
    """Nothing, for longer than a sender waits."""
    time.sleep(12)
    return 0


def resets(handler: BaseHTTPRequestHandler) -> int:
    """RST."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    return 0


def takes_in_silence(handler: BaseHTTPRequestHandler) -> int:
    """The message is taken, and the connection closed before the answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    return 200


FAULTS: tuple[Answer, ...] = (fails, is_busy, resets, takes_in_silence, hangs)


def run(scene: Scene, scale: Scale) -> Finding:
    """Each fault in so many hours."""
    hours = scale.of(10, quick=1)
    for _ in range(hours):
        for answer in FAULTS:
            scene.receiver.answer, before = answer, len(scene.receiver.requests())
            scene.hour(spoilt=2)
            if answer is takes_in_silence:
                scene.kills += len(scene.receiver.requests()) - before  # each comes again
            scene.receiver.answer = takes
            _until_told(scene)
    dead = Notice.objects.filter(settled_at__isnull=False, sent_at__isnull=True, suppressed="").count()
    tried = Notice.objects.filter(failures__gt=0).count()
    return judge(scene, [("hours of each fault", str(hours)), ("notices that failed; given up", f"{tried}; {dead}")])


def _until_told(scene: Scene) -> None:
    """Time passes until every notice is settled."""
    for _ in range(PATIENCE):
        waiting = Notice.objects.filter(settled_at=None).order_by("due_at").first()
        if waiting is None:
            return
        scene.go(max(waiting.due_at, clock.now()))


EXPERIMENT = Experiment(number=13, title="a receiver out of order", run=run, minutes=30)
