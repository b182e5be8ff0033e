"""Airflow in an environment of its own, with the provider and the client from wheels built here."""

import os
import subprocess
from pathlib import Path

from deploy.bootstrap import call, make_environment

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-airflow"
AIRFLOW = os.environ.get("AIRFLOW_VERSION", "3.3.2")
OPENLINEAGE = "apache-airflow-providers-openlineage"  # what tasks tell it is looked at; it sends nothing
DISTRIBUTIONS = ("client", "airflow")


def prepared() -> list[str]:
    """What is installed, as NAME VERSION; raises UnableToBootstrap."""
    make_environment(VENV)
    stamp = VENV / f"airflow-{AIRFLOW}-and-openlineage"
    if not stamp.exists():
        _pip("install", f"apache-airflow=={AIRFLOW}", OPENLINEAGE)
        stamp.touch()
    wheels = VENV / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    for name in DISTRIBUTIONS:
        _pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT / "deploy" / name))
    built = sorted(map(str, wheels.glob("*.whl")))
    _pip("install", "--no-deps", "--force-reinstall", *built)
    _pip("check")
    names = ["apache-airflow", "airflow-provider-assay", "assay-client"]
    code = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {names}), sep='\\n')"
    done = subprocess.run([str(VENV / "bin" / "python"), "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _pip(command: str, *what: str) -> None:
    quiet = ["-q", "--disable-pip-version-check"] if command != "check" else []
    call([str(VENV / "bin" / "python"), "-m", "pip", command, *quiet, *what])
