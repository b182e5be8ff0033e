"""One Spark session for all integration tests, as starting one takes seconds."""

from collections.abc import Iterator

import pytest

from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark import kernels
from execution_engine.engines.spark.engine import SparkEngine

from . import sparks, storages


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is of another Spark, or another storage, than the chosen ones."""
    sparks.leave_out(items)
    storages.leave_out(items)


@pytest.fixture(scope="session", autouse=True)
def _storage() -> Iterator[None]:
    """The server of the chosen storage, before any Spark that shall know of it."""
    with storages.running():
        yield


@pytest.fixture(scope="session")
def spark_options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkOptions]:
    """Classic ``local[2]``, a cluster or Connect, as chosen."""
    with sparks.chosen(tmp_path_factory.mktemp("spark")) as options:
        yield options


@pytest.fixture(scope="session")
def spark_engine(spark_options: SparkOptions) -> Iterator[SparkEngine]:
    """A session of it; of two kinds in one process, one clashes with the other."""
    engine = SparkEngine(spark_options)
    yield engine
    engine.close()


@pytest.fixture
def kernels_always_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take all that they can, also of small files that Spark reads anyway."""
    monkeypatch.setattr(kernels, "comes_along", lambda *_: False)
