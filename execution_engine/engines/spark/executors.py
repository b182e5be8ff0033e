"""Whether the tasks of a cluster can do what kernels need: their Python, its packages, and the stores that they reach.

A task that lacks something would fail like one whose file is damaged, and Spark's own reading would hide it. So each
session asks once, and again after a while where something is wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import SparkSession

from execution_engine.engines.files.listing import Root, UnableToListFiles
from execution_engine.engines.files.stores import code_of_error, failure_in_tasks, probe

from .copies import runs_here
from .failures import OF_ALL, SPARK_ERRORS, failure_of

TASKS = 4  # that are asked, so that more than one executor answers
AGAIN_SECONDS = 300.0
MEND = "install it there, or ship it by ASSAY_SPARK_CONF (docs/clusters.md)"
_LACKS = (
    (re.compile(r"No module named '([\w.]+)'"), "the executors' Python has no {0}: " + MEND),
    (re.compile(r"(PyArrow|numpy) (>= \S+) must be installed"), "the executors' Python has no {0} {1}: " + MEND),
    (re.compile(r"Cannot run program \"([^\"]+)\""), "the executors have no Python at {0}: set spark.pyspark.python"),
    (
        re.compile(r"Python in worker has different version: (\S+) than that in driver: ([\d.]+)"),
        "the executors have Python {0}, and this process {1}: set spark.pyspark.python (docs/clusters.md)",
    ),
)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What is wrong, and when that was seen."""

    fault: str
    at: float


_answers: WeakKeyDictionary[SparkSession, dict[str, _Answer]] = WeakKeyDictionary()


def fault_of_tasks(session: SparkSession, root: Root | None = None) -> str:
    """Why the tasks of a session cannot run kernels, or not read this folder; empty where they can.

    Raises what Spark does, and UnableToListFiles where the store does not answer this process either.
    """
    if runs_here(session):  # with the Python and the network of this process
        return ""
    fault = _looked_up(session, "", None)
    if fault or root is None or root.is_local:
        return fault
    return _looked_up(session, "/".join(root.url(root.path).split("/")[:3]), root)


def _looked_up(session: SparkSession, place: str, root: Root | None) -> str:
    answers = _answers.setdefault(session, {})
    answer = answers.get(place)
    if answer is None or (answer.fault and answer.at + AGAIN_SECONDS < monotonic()):
        answer = answers[place] = _Answer(fault=_ask(session, root), at=monotonic())
    return answer.fault


def _ask(session: SparkSession, root: Root | None) -> str:
    store, path = (root.open_store(), root.path) if root else (None, "")

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy  # noqa: F401  whether it can be

        for batch in batches:
            answer = ""
            try:
                if store is not None:
                    store.get_file_info(path)
            except OSError as error:
                answer = str(error)
            yield pa.RecordBatch.from_pydict({"answer": [answer] * batch.num_rows})

    try:
        frame = session.range(0, TASKS, 1, TASKS).mapInArrow(work, "answer string")
        answers = frame.toArrow().column("answer").to_pylist()
    except SPARK_ERRORS as error:
        if failure_of(error, "Spark").reason in OF_ALL:
            raise
        return fault_in(str(error))
    text = next(filter(None, answers), "")
    if not text or root is None:
        return ""
    location = root.url(root.path)
    if probe(location) and (failure := failure_in_tasks(location, text)):  # nor does it answer here
        raise UnableToListFiles(failure.detail, failure.reason)
    return f"the executors do not read the store, which this process reads: {code_of_error(text)}"


def fault_in(text: str) -> str:
    """What an error of a task says that its executor lacks."""
    for pattern, sentence in _LACKS:
        if match := pattern.search(text):
            return sentence.format(*match.groups())
    return "a task in Python fails on the executors, see their logs"
