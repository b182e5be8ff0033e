"""Checks of this machine: Java, folders, space."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile

from assay.config import config
from execution_engine.engines.spark.start.java import UnableToFindJava, find_java

from .finding import Finding, ill, well

LEAST_FREE = 1 << 30  # bytes
LEAST_SHARE = 0.05  # of the disk


def java() -> Finding:
    """Whether Spark has a Java to run on."""
    if config().spark_remote:
        return well("java", "not needed: Spark is reached by Connect")
    try:
        return well("java", str(find_java(os.environ)))
    except UnableToFindJava as error:
        return ill("java", "none that Spark runs on", str(error))


def home() -> Finding:
    """Whether the home folder can be written."""
    return _writable("home", config().home, "set ASSAY_HOME to a folder of yours")


def states() -> Finding:
    """Whether the folder of states can be written; that all workers share it, no single machine can tell."""
    conf = config()
    if conf.broker_url and conf.state_store is None:
        own = f"{conf.states.resolve()} is this machine's own, and workers of others do not see it"
        return ill("states", own, "set ASSAY_STATE_STORE to a folder that all workers share")
    found = _writable("states", conf.states, "set ASSAY_STATE_STORE to a folder that can be written")
    if not found.is_well or not conf.broker_url:
        return found
    return well("states", f"{found.found}; whether all workers share it cannot be seen from here: make sure of it")


def disk() -> Finding:
    """Whether there is space left where states and the embedded database lie."""
    places = [place for place in (config().home, config().states) if place.exists()]
    usages = [(place, shutil.disk_usage(place)) for place in places]
    return disk_finding([(place, usage.free, usage.total) for place, usage in usages])


def disk_finding(places: list[tuple[Path, int, int]]) -> Finding:
    """What the free and total bytes of folders mean."""
    scarce = [
        f"{free / 1e9:.1f} GB free under {place.resolve()}"
        for place, free, total in places
        if free < LEAST_FREE or free < LEAST_SHARE * total
    ]
    if scarce:
        return ill("disk", "; ".join(scarce), "free some, or set ASSAY_HOME or ASSAY_STATE_STORE to a larger disk")
    return well("disk", f"{min((free for _, free, _ in places), default=0) / 1e9:.1f} GB free")


def _writable(check: str, folder: Path, mend: str) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return ill(check, f"{folder} cannot be written: {error}", mend)
    return well(check, str(folder.resolve()))
