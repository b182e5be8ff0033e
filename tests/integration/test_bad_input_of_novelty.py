"""Bad input to novelty: a verdict or a reason for each, where it comes once and where a table was always so."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from assay import clock
from assay.command_line.cli import run as assay
from assay.queue.drain import advance
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Run
from incident_manager.models import Incident

DAYS = [f"2026-03-{day:02}" for day in range(2, 11)]
LAST = DAYS[-1]
ROWS = 300
Columns = dict[str, Any]


def sound(chance: np.random.Generator, rows: int = ROWS) -> Columns:
    """An ordinary day."""
    return {
        "id": chance.permutation(1_000_000)[:rows],
        "fare": np.round(chance.normal(20, 4, rows), 2),
        "city": chance.choice(["Lisbon", "Porto", "Faro"], rows),
    }


def constant(day: Columns, _: np.random.Generator) -> Columns:
    return {**day, "city": np.full(len(day["id"]), "Porto")}


def nulls(day: Columns, _: np.random.Generator) -> Columns:
    return {**day, "fare": pa.nulls(len(day["id"]), pa.float64())}


def one_row(_: Columns, chance: np.random.Generator) -> Columns:
    return sound(chance, 1)


def no_rows(_: Columns, chance: np.random.Generator) -> Columns:
    return sound(chance, 0)


def many_columns(day: Columns, chance: np.random.Generator) -> Columns:
    return {**day, **{f"c{number}": chance.integers(0, 9, len(day["id"])) for number in range(2000)}}


def column_gone(day: Columns, _: np.random.Generator) -> Columns:
    return {name: values for name, values in day.items() if name != "fare"}


def column_more(day: Columns, chance: np.random.Generator) -> Columns:
    return {**day, "tip": chance.normal(2, 1, len(day["id"]))}


def other_type(day: Columns, _: np.random.Generator) -> Columns:
    return {**day, "fare": [f"{fare} EUR" for fare in day["fare"]]}


def long_text(day: Columns, chance: np.random.Generator) -> Columns:
    text = "".join(chance.choice(list("abcdefgh "), 1 << 20))
    return {**day, "city": [text, *day["city"][1:]]}


def no_numbers(day: Columns, _: np.random.Generator) -> Columns:
    fare = np.array(day["fare"])
    fare[::10], fare[1::10], fare[2::10] = np.nan, np.inf, -np.inf
    return {**day, "fare": fare}


def no_number_at_all(day: Columns, _: np.random.Generator) -> Columns:
    return {**day, "fare": np.full(len(day["id"]), np.nan)}


def huge_numbers(day: Columns, _: np.random.Generator) -> Columns:
    return {**day, "fare": np.where(np.arange(len(day["id"])) % 2, 1e308, -1e308)}


def ten_times(_: Columns, chance: np.random.Generator) -> Columns:
    return sound(chance, 10 * ROWS)


def nested(day: Columns, _: np.random.Generator) -> Columns:
    return {**day, "parts": [[1, 2], None] * (len(day["id"]) // 2)}


def damaged(_: Columns, __: np.random.Generator) -> Columns:
    return {}


KINDS: Mapping[str, Callable[[Columns, np.random.Generator], Columns]] = {
    kind.__name__: kind
    for kind in (
        constant, nulls, one_row, no_rows, many_columns, column_gone, column_more, other_type, long_text, no_numbers,
        no_number_at_all, huge_numbers, ten_times, nested, damaged,
    )
}  # fmt: skip


ONCE: Mapping[
    str, tuple[str, ...]
] = {  # on the last day alone: what is said of it, nothing where it is like the others
    "constant": ("number of shapes of city: 1, usually 3",),
    "nulls": ("share of complete values of fare: 0, usually 1",),
    "one_row": ("standard deviation of fare: 0, usually 3.", "rows: 1, usually 300"),
    "no_rows": ("8 windows before: rows: 0, usually 300",),
    "many_columns": (),  # new columns are noted, and judged once eight days have them
    "column_gone": ("column of fare: missing, usually there",),
    "column_more": (),
    "other_type": ("kind of the values of fare: text, usually number",),
    "long_text": ("mean length of the longest tenth of city: 3.496e+04, usually 6",),
    "no_numbers": ("share of infinite numbers of fare: 0.2, usually 0", "share of NaN of fare: 0.1, usually 0"),
    "no_number_at_all": ("share of NaN of fare: 1, usually 0",),
    "huge_numbers": ("share of numbers below the lowest seen before of fare: 0.5",),
    "ten_times": ("rows: 3,000, usually 300",),
    "nested": (),
    "damaged": ("table cannot be read", "part-0.parquet is no readable parquet file"),
}
ALWAYS: Mapping[str, str] = {  # on every day: why there is no verdict, nothing where there is one
    "constant": "",
    "nulls": "",
    "one_row": "",
    "no_rows": "has 0 of the 8 accepted windows it needs",
    "many_columns": "",
    "long_text": "",
    "no_numbers": "",
    "no_number_at_all": "",
    "huge_numbers": "",
    "ten_times": "",
    "nested": "",
    "damaged": "table cannot be read",
}
BY_TURNS: Mapping[str, str] = {  # on every other day, the last one too
    "nulls": "",
    "one_row": "",
    "column_gone": "",
    "column_more": "",
    "other_type": "",
    "ten_times": "",
    "damaged": "table cannot be read",
}
TABLES = {
    f"{when}.{kind}": (when, kind)
    for when, kinds in (("once", ONCE), ("always", ALWAYS), ("by_turns", BY_TURNS))
    for kind in kinds
}


def is_so(when: str, number: int) -> bool:
    """Whether a table is so on a day."""
    return {"once": number == len(DAYS) - 1, "always": True, "by_turns": number % 2 == 0}[when]


def write(part: Path, kind: str | None, chance: np.random.Generator) -> None:
    """A day in one file."""
    day = sound(chance) if kind is None else KINDS[kind](sound(chance), chance)
    part.mkdir(parents=True)
    if day:
        pq.write_table(pa.table(day), part / "part-0.parquet")
    else:
        (part / "part-0.parquet").write_bytes(b"PAR1 this is no parquet file")


def table(name: str) -> dict[str, Any]:
    """A partition a day, of which nothing else is known."""
    return {
        "name": name,
        "owner": "bea@example.com",
        "tier": 2,
        "partition": {"column": "datestr", "granularity": "day", "first": DAYS[0]},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": f"lake/{name}"}],
    }


def said_of(name: str) -> tuple[str, str]:
    """The outcome of the last run of novelty over the last day, and its sentence."""
    runs = Run.objects.filter(data_test__name="novelty", data_test__dataset__full_name=name)
    last = runs.filter(evaluated_at__isnull=False).order_by("window_start", "pk").last()
    assert last is not None, name
    assert last.window_start == instant(f"{LAST}T00:00"), name
    return last.outcome, last.sentence


def instant(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}:00+00:00")


@pytest.mark.django_db(transaction=True)
def test_a_verdict_or_a_reason_for_each(
    spark_engine: SparkEngine, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump({"datasets": [table(name) for name in TABLES]}))
    clock.simulate(instant(f"{DAYS[0]}T00:00"))
    with storage.using(spark_engine):
        assert assay(["sync", str(tmp_path / "catalog.yaml")]) == 0
        for number, day in enumerate(DAYS):
            for at, (name, (when, kind)) in enumerate(TABLES.items()):
                part = tmp_path / "lake" / name / f"datestr={day}"
                write(part, kind if is_so(when, number) else None, np.random.default_rng([at, number]))
            advance(instant(f"{day}T07:00") + timedelta(days=1))
        advance(instant(f"{LAST}T13:00") + timedelta(days=1))  # what lasts is an incident
    wrong = {
        name: said_of(name) for name, (when, kind) in TABLES.items() if not is_answered(when, kind, *said_of(name))
    }
    assert wrong == {}
    client.force_login(User.objects.create_superuser("ada"))
    opened = [f"/incidents/{incident.pk}" for incident in Incident.objects.all()]
    assert len(opened) > len([kind for kind, words in ONCE.items() if words])
    for address in (*(f"/datasets/{name}" for name in TABLES), *opened):
        for shown in (address, f"/api/v1{address}"):
            assert client.get(shown).status_code == 200, shown
    capsys.readouterr()
    by_command = {
        name: told(capsys, name) for name in ("once.long_text", "once.no_rows", "once.damaged", "always.nulls")
    }
    assert "mean length of the longest tenth of city" in by_command["once.long_text"]
    assert "rows: 0, usually 300" in by_command["once.no_rows"]
    assert "part-0.parquet" in by_command["once.damaged"]
    assert '"LIKE"' in by_command["always.nulls"]


def is_answered(when: str, kind: str, outcome: str, sentence: str) -> bool:
    """Whether the answer is the one that is wanted."""
    if when == "once":
        wanted = ("error" if kind == "damaged" else "broken") if ONCE[kind] else "held"
        return outcome == wanted and all(words in sentence for words in ONCE[kind])
    reason = (ALWAYS if when == "always" else BY_TURNS)[kind]
    return outcome == ("error" if reason else "held") and reason in sentence


def told(capsys: pytest.CaptureFixture[str], name: str) -> str:
    """What the command says of a dataset, as JSON or as an error."""
    assert assay(["novelty", name, "--json"]) in (0, 1, 3)
    return "".join(capsys.readouterr())
