"""What a part has found, as lines of a table."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.cache import home

Line = tuple[str, str]
PERCENTS = (50, 90, 99, 100)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A part's heading and lines."""

    name: str
    heading: str
    lines: Sequence[Line]

    def write(self) -> Path:
        """Keep them where the benchmark that started this process looks."""
        path = path_of(self.name)
        path.write_text(json.dumps(asdict(self)))
        return path


def read(name: str) -> Figures:
    """What ``write`` has kept."""
    found = json.loads(path_of(name).read_text())
    return Figures(name=found["name"], heading=found["heading"], lines=[tuple(line) for line in found["lines"]])


def path_of(name: str) -> Path:
    """The file of a part's figures."""
    return home() / f"service-{name}.json"


def percentiles(label: str, samples: Sequence[float], unit: str = "s") -> list[Line]:
    """One line with the median, the 90th and 99th percentiles and the worst, and how many there were."""
    values = np.percentile(samples, PERCENTS)
    told = ", ".join(f"p{percent} {value:,.1f}" for percent, value in zip(PERCENTS, values, strict=True))
    return [(f"{label} ({unit}, n = {len(samples):,})", told.replace("p100", "worst"))]
