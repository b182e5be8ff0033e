"""What a task does with an answer of the gate, into the log, into XCom, and on or not; what OpenLineage hears of it."""

import logging
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Literal

from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from assay_client import AssayError, GateAnswer, Unavailable

OnBlock = Literal["fail", "skip"]
LEVELS = {"allow": logging.INFO, "warn": logging.WARNING, "block": logging.ERROR}


class DataIsBlocked(AirflowException):
    """Assay says that the data must not be used; the message has the reasons."""


def demand_on_block(on_block: str) -> None:
    """Nothing for ``fail`` and ``skip``; else raises ValueError."""
    if on_block not in ("fail", "skip"):
        raise ValueError(f"on_block={on_block!r}: write 'fail' or 'skip'")


def as_xcom(answer: GateAnswer) -> dict[str, Any]:
    """The answer as JSON has it."""
    return {**asdict(answer), "reasons": [asdict(reason) for reason in answer.reasons]}


def tell(answer: GateAnswer, log: Any) -> None:
    """The answer and its reasons, each at the level of its decision."""
    log.log(LEVELS[answer.decision], "Assay says: %s", answer.decision)
    for reason in answer.reasons:
        log.log(LEVELS[reason.decision], "%s", reason)


def stop_if_blocked(answer: GateAnswer, *, on_block: OnBlock) -> None:
    """Nothing unless it blocks; then raises DataIsBlocked, or AirflowSkipException."""
    if answer.blocks:
        message = "Assay blocks: " + "; ".join(map(str, answer.decisive))
        raise AirflowSkipException(message) if on_block == "skip" else DataIsBlocked(message)


def answer_of(event: dict[str, Any] | None) -> dict[str, Any]:
    """The answer, as JSON has it, that a trigger ended with; raises AssayError where it could not ask."""
    result = event or {"error": "the trigger ended without an answer"}
    if "error" in result:
        raise AssayError(result["error"])
    return dict(result["answer"])


def is_away(error: AssayError, log: Any) -> bool:
    """Whether it makes sense to ask again later, which is then logged."""
    if isinstance(error, Unavailable):
        log.warning("Assay gives no answer, it is asked again: %s", error)
    return isinstance(error, Unavailable)


# What OpenLineage is told of a task; it is not called unless Airflow's OpenLineage provider is installed.


def lineage(*, inputs: Iterable[str] = (), outputs: Iterable[str] = ()) -> Any:
    """An ``OperatorLineage`` of datasets by their full names, named as Assay reads them from events."""
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset

    def named(full_name: str) -> Any:
        namespace, _, name = full_name.rpartition(".")
        return Dataset(namespace=namespace or "assay", name=name)

    return OperatorLineage(
        inputs=[named(name) for name in dict.fromkeys(inputs)], outputs=[named(name) for name in dict.fromkeys(outputs)]
    )
