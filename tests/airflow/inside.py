"""What needs no process of Airflow, only its code: Airflow's own Python runs this file, which prints what it tried.

``python inside.py URL TOKEN``, with the connection ``assay_default`` in Airflow's environment or database.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from airflow.sdk import DAG, Connection
from airflow.sdk.exceptions import AirflowSkipException

from assay_airflow import get_provider_info
from assay_airflow.answers import DataIsBlocked, answer_of, stop_if_blocked
from assay_airflow.hooks import AssayHook, url_of
from assay_airflow.operators import CompletedOperator, GateOperator
from assay_airflow.triggers import GateTrigger, JudgedTrigger
from assay_client import AssayError, GateAnswer, GateReason

BLOCKS = GateAnswer(
    decision="block",
    reasons=(
        GateReason(
            text="rows is broken", test="rows", incident=7, report=None, decision="block", dataset="raw.a", window="w"
        ),
    ),
)


def what_is_listed_can_be_imported() -> None:
    """Modules and classes of the provider's description."""
    info = get_provider_info()
    for kind in ("hooks", "operators", "sensors", "triggers"):
        for each in info[kind]:
            for name in each["python-modules"]:
                import_module(name)
    module, name = info["connection-types"][0]["hook-class-name"].rsplit(".", 1)
    assert getattr(import_module(module), name) is AssayHook


def urls_of_connections() -> None:
    """A host may be a URL, or a name with the parts beside it."""
    cases = {
        ("https://a.example.com/assay", None, None): "https://a.example.com/assay",
        ("a.example.com", None, None): "https://a.example.com",
        ("127.0.0.1", "http", 8000): "http://127.0.0.1:8000",
        (None, None, None): "",
    }
    for (host, schema, port), url in cases.items():
        found = url_of(Connection(conn_id="x", conn_type="assay", host=host, schema=schema, port=port))
        assert found == url, (host, found)


def a_connection_is_tried(url: str, token: str) -> None:
    """A good one, one with a wrong token, and one that leads nowhere."""
    tried = {
        "good": (url, token, True),
        "wrong_token": (url, "x" * 40, False),
        "nowhere": ("http://127.0.0.1:9", token, False),
        "no_host": ("", token, False),
    }
    for name, (host, password, wanted) in tried.items():
        connection = Connection(conn_id=name, conn_type="assay", host=host, password=password)
        os.environ[f"AIRFLOW_CONN_{name.upper()}"] = connection.as_json()
        is_well, said = AssayHook(name).test_connection()
        assert (is_well, bool(said)) == (wanted, True), (name, said)


def triggers_are_made_anew_of_what_they_say() -> None:
    """As another triggerer does it."""
    usual: dict[str, Any] = {"assay_conn_id": "c", "poll_interval": 2.0}
    gate = GateTrigger(datasets=("raw.a",), window="2026-01-01", datacenter="sea", pipeline="p", **usual)
    judged = JudgedTrigger(pipeline="p", completions=(1, 2), **usual)
    for trigger in (gate, judged):
        path, given = trigger.serialize()
        module, name = path.rsplit(".", 1)
        again = getattr(import_module(module), name)(**given)
        assert again.serialize() == (path, given), path


def what_a_task_does_when_it_is_blocked() -> None:
    """It fails with the reasons or skips, and takes no other word."""
    assert "rows is broken" in said_by(DataIsBlocked, lambda: stop_if_blocked(BLOCKS, on_block="fail"))
    assert "rows is broken" in said_by(AirflowSkipException, lambda: stop_if_blocked(BLOCKS, on_block="skip"))
    wrong: Any = "explode"
    told = said_by(ValueError, lambda: GateOperator(task_id="t", datasets="raw.a", window="w", on_block=wrong))
    assert wrong in told
    assert said_by(AssayError, lambda: answer_of(None))
    assert said_by(AssayError, lambda: answer_of({"error": "no such dataset"})) == "no such dataset"


def said_by(kind: type[Exception], call: Callable[[], object]) -> str:
    """The message of the error that a call must end with."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def datasets_are_told_to_openlineage() -> None:
    """Under names that Assay reads from events."""
    with DAG("d"):
        gate = GateOperator(task_id="g", datasets=["raw.a", "b.c.d", "plain"], window="w")
        done = CompletedOperator(task_id="c", outputs=[{"dataset": "mart.a", "window": "w"}])
    inputs = gate.get_openlineage_facets_on_start().inputs
    assert [(each.namespace, each.name) for each in inputs] == [("raw", "a"), ("b.c", "d"), ("assay", "plain")]
    outputs = done.get_openlineage_facets_on_complete(None).outputs
    assert [(each.namespace, each.name) for each in outputs] == [("mart", "a")]


def main(url: str, token: str) -> None:
    """Try all."""
    what_is_listed_can_be_imported()
    urls_of_connections()
    a_connection_is_tried(url, token)
    triggers_are_made_anew_of_what_they_say()
    what_a_task_does_when_it_is_blocked()
    datasets_are_told_to_openlineage()
    print("all tried")


if __name__ == "__main__":
    main(*sys.argv[1:])
