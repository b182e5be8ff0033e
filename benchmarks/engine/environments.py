"""A virtual environment for each peer, as their dependencies exclude each other's."""

import subprocess
import sys
from dataclasses import dataclass
from hashlib import blake2s
from pathlib import Path

from benchmarks.cache import home, made_once


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One Python with these packages; none of them: the one that runs this."""

    name: str
    packages: tuple[str, ...] = ()

    def python(self) -> Path:
        """Its interpreter, installed if need be; CalledProcessError when a package cannot be had."""
        if not self.packages:
            return Path(sys.executable)
        mark = blake2s("\n".join((*self.packages, sys.version)).encode(), digest_size=4).hexdigest()
        folder = home() / "environments" / f"{self.name}-{mark}"
        return made_once(folder, self._make) / "bin" / "python"

    def _make(self, folder: Path) -> None:
        print(f"installing {', '.join(self.packages)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-q"]
        subprocess.run([*pip, "--disable-pip-version-check", *self.packages], check=True)


COMMON = ("psutil==7.*", "pyarrow>=18", "setuptools<81")  # setuptools: what left Python 3.12 that peers still import
OWN = Environment(name="assay")
CUALLEE = Environment(
    name="cuallee", packages=("cuallee[pandas]==0.15.4", "pyspark[connect]==4.3.0", "pandas<3", *COMMON)
)
GREAT_EXPECTATIONS = Environment(
    name="great_expectations", packages=("great_expectations[spark]==1.24.1", "pyspark==4.1.*", *COMMON)
)
DUCKDB = Environment(name="duckdb", packages=("duckdb>=1.4", "pyspark==4.3.0", *COMMON))
POLARS = Environment(name="polars", packages=("polars>=1.30", "pyspark==4.3.0", *COMMON))
SODA = Environment(name="soda", packages=("soda-core-spark-df==3.5.6", "pyspark==3.5.*", "pandas<2.3", *COMMON))
