"""Spark's own settings, as the operator names them in ``ASSAY_SPARK_CONF``; and those that stay as Assay sets them."""

import json
import re
from collections.abc import Iterator, Mapping

from .references import HOW, parse_entries, read_secret

SAFE = {  # user SQL reaches neither the JVM, the shell, files nor the environment
    "spark.sql.restrictedMode.enabled": "true",
    "spark.reflect.allowList": "(?!)",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.scripting.enabled": "false",
    "spark.udt.allowCreatingUDTFromString": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.redaction.regex": "(?i)secret|passw|pwd|token|credential|(access|account|api)[._]?key",
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|token|credential|key",
}
CONSISTENT = {  # else values would be others
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.caseSensitive": "false",
}
_BY_SETTING = {
    "spark.master": "ASSAY_SPARK_MASTER",
    "spark.remote": "ASSAY_SPARK_REMOTE",
    "spark.driver.memory": "ASSAY_SPARK_MEMORY",
}
_SECRET = re.compile(SAFE["spark.redaction.regex"])
_NO_SECRET = re.compile(r"(?i)(provider|path|file|class|type|enabled)$")  # names of what leads to one
_WITHIN = re.compile(r"(?i)(secret|passw\w*|pwd|token|key)=[^\s,;]")
_AT_START = ("spark.driver.", "spark.jars", "spark.submit.")  # what Java's own command line must hold
_OURS = ("ASSAY_", "DJANGO_")


def parse_conf(text: str) -> dict[str, str]:
    """The settings of a JSON object, or of a YAML file that the text names; ValueError says what is wrong."""
    entries = parse_entries(text) if text.strip() else {}
    if not isinstance(entries, Mapping):
        raise ValueError(
            f'write an object of settings: {{"spark.executor.memory": "2g"}}, not {type(entries).__name__}'
        )
    if faults := [fault for name, value in entries.items() for fault in _faults(str(name), value)]:
        raise ValueError("; ".join(faults))
    return {str(name): value if isinstance(value, str) else json.dumps(value) for name, value in entries.items()}


def is_reference(name: str, value: str) -> bool:
    """Whether the value says where the setting's own is; ``file:/`` alone may be a place that Spark itself opens."""
    return value.startswith("env:") or (_is_secret(name) and value.startswith("file:/"))


def resolve_secrets(conf: Mapping[str, str]) -> dict[str, str]:
    """The values behind those settings that are references; raises UnableToReadSecret."""
    return {
        name: read_secret(value, f"ASSAY_SPARK_CONF takes {name}")
        for name, value in conf.items()
        if is_reference(name, value)
    }


def variables_of(conf: Mapping[str, str]) -> set[str]:
    """The variables of the environment that the settings refer to."""
    return {value.removeprefix("env:") for value in conf.values() if value.startswith("env:")}


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)


def _faults(name: str, value: object) -> Iterator[str]:
    if not name.startswith("spark."):
        yield f"{name} is no setting of Spark: their names begin with spark."
    elif name in SAFE:
        yield f"{name} stays as Assay sets it, as users' SQL must reach neither Java nor files: leave it out"
    elif name in CONSISTENT:
        yield f"{name} stays {CONSISTENT[name]}, as values would be others: leave it out"
    elif name in _BY_SETTING:
        yield f"{name} is set by {_BY_SETTING[name]}"
    elif not isinstance(value, str | int | float):
        yield f"{name} is no text, number or truth: write lists as Spark does, with commas"
    elif isinstance(value, str) and is_reference(name, value):
        if name.startswith(_AT_START):
            yield f"{name} stands on a command line, which every user of the machine can read: it may be no reference"
        elif value.removeprefix("env:").upper().startswith(_OURS):
            yield f"{name} names a variable of Assay's own, which Spark must not see"
    elif isinstance(value, str) and (_is_secret(name) or _WITHIN.search(value)):
        yield f"{name} holds a secret: {HOW}"
