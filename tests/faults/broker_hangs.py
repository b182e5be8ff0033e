"""5: Redis answers nobody, and then goes on.

Staged: SIGSTOP to Redis while an hour's tests are worked, then SIGCONT. Asserted: I1 to I8; the API answers all the
while, as it never asks Redis.
"""

import time
from http.client import HTTPException
from urllib.request import urlopen

from tests.faults.experiment import Experiment, Finding, Scale
from tests.faults.judging import judge
from tests.faults.scene import Scene

ASK_EVERY = 0.2  # seconds
SLOWEST = 5.0  # seconds for an answer


def run(scene: Scene, scale: Scale) -> Finding:
    """Let Redis hang for so long, twice."""
    seconds, took = scale.of(60, quick=6), list[float]()
    for _ in range(2):
        scene.hour(spoilt=2, meanwhile=lambda: took.extend(_hang(scene, seconds)))
    worst = sorted(took)
    p99 = worst[round(0.99 * (len(worst) - 1))]
    figures = [
        ("s that Redis hung, twice", str(seconds)),
        ("API meanwhile: answers; p99 ms", f"{len(took)}; {1000 * p99:.0f}"),
    ]
    finding = judge(scene, figures)
    slow = [f"an answer took {each:.1f} s" for each in took if each > SLOWEST]
    return finding.also({"API answers": slow})


def _hang(scene: Scene, seconds: int) -> list[float]:
    """The seconds of each answer meanwhile."""
    scene.fleet.stop("redis")
    until, took = time.monotonic() + seconds, []
    while time.monotonic() < until:
        took.append(_asked(f"{scene.fleet.web_url}/readyz"))
        time.sleep(ASK_EVERY)
    scene.fleet.resume("redis")
    return took


def _asked(url: str) -> float:
    begun = time.monotonic()
    try:
        with urlopen(url, timeout=2 * SLOWEST) as answer:
            answer.read()
    except (OSError, HTTPException):
        return 2 * SLOWEST
    return time.monotonic() - begun


EXPERIMENT = Experiment(number=5, title="Redis hangs", run=run, minutes=10)
