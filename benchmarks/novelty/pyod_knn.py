"""PyOD's nearest neighbours, in an environment and a process of their own: numbers go in, verdicts come out.

Run as a script it is that process. It imports nothing of the project: the environment has PyOD alone.
"""

import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

NEIGHBOURS, CONTAMINATION = 5, 0.01  # as Redyuk et al. have set it


@dataclass(kw_only=True)
class Judge:
    """A running process; it fits the detector anew where the past has changed."""

    process: "subprocess.Popen[bytes]"
    fitted: bytes = field(default=b"")

    def is_outlier(self, past: Any, point: Any) -> bool:
        """Whether a row of numbers is one, given so many accepted rows."""
        history = past.tobytes()
        self._send((None if history == self.fitted else past, point))
        self.fitted = history
        assert self.process.stdout is not None
        return bool(pickle.load(self.process.stdout))

    def _send(self, asked: object) -> None:
        assert self.process.stdin is not None
        pickle.dump(asked, self.process.stdin)
        self.process.stdin.flush()


@cache
def judge() -> Judge:
    """The one process of this run; its environment is installed if need be."""
    from benchmarks.engine.environments import Environment

    python = Environment(name="pyod", packages=("pyod==3.6.7", "numpy==2.4.6")).python()
    command = [str(python), str(Path(__file__))]
    return Judge(process=subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))


def _serve() -> None:
    from pyod.models.knn import KNN

    detector: Any = None
    answers = sys.stdout.buffer
    while True:
        try:
            past, point = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if past is not None:
            detector = KNN(contamination=CONTAMINATION, n_neighbors=min(NEIGHBOURS, len(past) - 1), method="mean")
            detector.fit(past)
        pickle.dump(bool(detector.predict(point.reshape(1, -1))[0]), answers)
        answers.flush()


if __name__ == "__main__":
    _serve()
