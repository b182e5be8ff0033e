"""What the end of a child says of the scans that it was busy with, and what a child may see."""

import sys
from pathlib import Path

import pytest

from execution_engine.engines.child.process import Death, child_environment, failure_of_death
from execution_engine.engines.protocol import bytes_of
from execution_engine.outcome import Reason


@pytest.mark.parametrize(
    ("death", "reason", "said"),
    [
        (Death(java=3, python=70), Reason.OUT_OF_MEMORY, "its memory of 2g"),
        (Death(java=-9, python=70, kernel_kills=1), Reason.OUT_OF_MEMORY, "the kernel killed"),
        (Death(python=-9, kernel_kills=2), Reason.OUT_OF_MEMORY, "the kernel killed"),
        (Death(python=-9, overflowed=True, ordered="full"), Reason.OUT_OF_MEMORY, "Python held more than 2g"),
        (Death(java=-9, python=70), Reason.CRASHED, "Java was killed by signal 9"),
        (Death(java=1, python=70), Reason.CRASHED, "Java ended with status 1"),
        (Death(python=-11, kernel_kills=1), Reason.CRASHED, "child was killed by signal 11"),
        (Death(python=-9, ordered="another hung"), Reason.ENGINE_UNREACHABLE, "restarted: another hung"),
        (Death(java=-15, python=70), Reason.ENGINE_UNREACHABLE, "Java was killed by signal 15"),
        (Death(), Reason.CRASHED, "went away"),
        (Death(java=1, python=70, was_ready=False), Reason.ENGINE_UNREACHABLE, "Java ended with status 1"),
        (Death(python=-9, kernel_kills=1, was_ready=False), Reason.ENGINE_UNREACHABLE, "the kernel killed"),
    ],
)
def test_a_death_is_told_by_what_caused_it(death: Death, reason: Reason, said: str) -> None:
    failure = failure_of_death(death, "2g")
    assert failure.reason is reason
    assert said in failure.detail


def test_a_child_sees_what_spark_needs_and_what_is_named() -> None:
    given = {"PATH": "/bin", "ASSAY_SECRET_KEY": "s", "DB_PASSWORD": "s", "AWS_PROFILE": "lake", "HOME": "/root"}
    seen = child_environment(given, ["AWS_PROFILE", "ABSENT"], Path("/scratch"))
    assert (seen["PATH"], seen["AWS_PROFILE"], seen["HOME"]) == ("/bin", "lake", "/scratch")
    assert not {"ASSAY_SECRET_KEY", "DB_PASSWORD", "ABSENT"} & set(seen)


def test_the_python_of_workers_is_this_one_unless_another_is_named() -> None:
    assert child_environment({}, [], Path("/scratch"))["PYSPARK_PYTHON"] == sys.executable
    named = child_environment({"PYSPARK_PYTHON": "/opt/python"}, [], Path("/scratch"))
    assert named["PYSPARK_PYTHON"] == "/opt/python"


def test_memory_is_written_as_java_writes_it() -> None:
    assert [bytes_of(size) for size in ("512m", "2g", "2G")] == [512 * 2**20, 2 * 2**30, 2 * 2**30]
    with pytest.raises(ValueError, match="512m or 2g"):
        bytes_of("2 GB")
