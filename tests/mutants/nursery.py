"""Where trials are born: a process that has imported what is not ours forks one for each, and nothing is shared."""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence

from tests.mutants.targets import ROOT

IMPORTED_ONCE = (
    "__main__",
    __name__,
    *("pytest", "hypothesis.strategies", "django.db.models", "django.test", "lark", "sqlglot", "pydantic_settings"),
    *("numpy", "pandas", "pyarrow.dataset", "pyarrow.parquet", "structlog", "celery", "redis", "requests", "yaml"),
)
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(list(IMPORTED_ONCE))


def passes(arguments: Sequence[str], environment: Mapping[str, str], patience: float) -> bool:
    """Whether these tests pass in a process of their own within so many seconds; one that takes longer is killed."""
    process = FORKS.Process(target=_run, args=(arguments, environment))
    process.start()
    process.join(patience)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    import pytest

    os.chdir(ROOT)
    os.environ.update(environment)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    os._exit(int(pytest.main(list(arguments))))
