"""Spark's own settings as the operator names them."""

import json
from pathlib import Path

import pytest

from assay.config import UnableToReadSettings, config
from assay.references import UnableToReadSecret
from assay.spark_conf import parse_conf, resolve_secrets, variables_of
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.session import settings_of

S3A_KEY = "spark.hadoop.fs.s3a.secret.key"
CONF = {"spark.executor.memory": "2g", "spark.executor.instances": 4, "spark.dynamicAllocation.enabled": True}


def test_settings_are_read_from_json_and_from_a_file_alike(tmp_path: Path) -> None:
    (tmp_path / "spark.yaml").write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in CONF.items()))
    texts = {"spark.executor.memory": "2g", "spark.executor.instances": "4", "spark.dynamicAllocation.enabled": "true"}
    assert parse_conf(str(tmp_path / "spark.yaml")) == parse_conf(json.dumps(CONF)) == texts
    assert settings_of(SparkOptions(conf=texts)).items() >= texts.items()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("executor.memory", "2g", "executor.memory is no setting of Spark: their names begin with spark."),
        ("spark.sql.runSQLOnFiles", "true", "stays as Assay sets it, as users' SQL must reach neither Java nor files"),
        ("spark.sql.session.timeZone", "Europe/Paris", "stays UTC, as values would be others: leave it out"),
        ("spark.master", "yarn", "spark.master is set by ASSAY_SPARK_MASTER"),
        ("spark.jars", ["a.jar"], "spark.jars is no text, number or truth: write lists as Spark does, with commas"),
        (S3A_KEY, "hush", f"{S3A_KEY} holds a secret: write env:NAME, a variable of the environment, or file:/PATH"),
        ("spark.executor.extraJavaOptions", "-Dpassword=hush", "extraJavaOptions holds a secret: write env:NAME"),
        ("spark.driver.extraJavaOptions", "env:OPTIONS", "stands on a command line, which every user of the machine"),
        ("spark.sql.catalog.lake.token", "env:ASSAY_SECRET_KEY", "names a variable of Assay's own, which Spark must"),
    ],
)
def test_a_setting_that_is_not_the_operators_to_make_is_refused_at_the_start(
    name: str, value: object, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_SPARK_CONF", json.dumps({name: value}))
    config.cache_clear()
    with pytest.raises(UnableToReadSettings) as error:
        config()
    config.cache_clear()
    assert str(error.value).startswith("ASSAY_SPARK_CONF: ")
    assert sentence in str(error.value)
    assert "hush" not in str(error.value)


def test_secrets_are_read_where_the_settings_say_and_what_only_looks_like_one_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("hush\n")
    conf = {
        S3A_KEY: f"file:{tmp_path}/secret",
        "spark.sql.catalog.lake.uri": "env:LAKE_URI",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.Provider",
        "spark.eventLog.dir": "file:/var/log/spark",
    }
    assert parse_conf(json.dumps(conf)) == conf
    assert variables_of(conf) == {"LAKE_URI"}
    with pytest.raises(UnableToReadSecret, match=r"takes spark\.sql\.catalog\.lake\.uri from LAKE_URI"):
        resolve_secrets(conf)
    monkeypatch.setenv("LAKE_URI", "thrift://u:p@h")
    assert resolve_secrets(conf) == {S3A_KEY: "hush", "spark.sql.catalog.lake.uri": "thrift://u:p@h"}


def test_options_of_java_are_added_to_our_own() -> None:
    conf = {"spark.driver.extraJavaOptions": "-Djava.security.krb5.conf=/etc/krb5.conf"}
    options = SparkOptions(conf=conf, java_options="-XX:+ExitOnOutOfMemoryError")
    java = settings_of(options)["spark.driver.extraJavaOptions"]
    assert java.startswith("-Djava.security.krb5.conf=/etc/krb5.conf ")
    assert java.endswith("-XX:+ExitOnOutOfMemoryError")
