"""What waits in the triggerer. A trigger holds all it needs to begin anew in another one, and has no other state."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from assay_client import AssayClient, AssayError, GateAnswer

from .answers import as_xcom, is_away
from .hooks import AssayHook

T = TypeVar("T", bound=GateAnswer)


class _AskingTrigger(BaseTrigger):
    """Asks again and again, each time in a thread, until the answer is as wanted: ``{"answer": …}``.

    That Assay cannot be reached is waited out; any other error ends it: ``{"error": text}``.
    """

    def __init__(self, *, assay_conn_id: str, poll_interval: float, **extra_fields: Any) -> None:
        super().__init__()
        self.assay_conn_id, self.poll_interval, self.extra_fields = assay_conn_id, poll_interval, extra_fields

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and what it is made of."""
        kind = type(self)
        arguments = {"assay_conn_id": self.assay_conn_id, "poll_interval": self.poll_interval, **self.extra_fields}
        return f"{kind.__module__}.{kind.__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """One event, at the end."""
        yield TriggerEvent(await self._ended())

    @abstractmethod
    def ask(self, client: AssayClient) -> dict[str, Any] | None:
        """The answer as JSON has it, or None where it is not as wanted yet."""

    async def _ended(self) -> dict[str, Any]:
        while True:
            try:
                with await AssayHook(self.assay_conn_id).aget_conn() as client:
                    answer = await asyncio.to_thread(self.ask, client)
            except AssayError as error:
                if not is_away(error, self.log):
                    return {"error": str(error)}
            else:
                if answer is not None:
                    return {"answer": answer}
            await asyncio.sleep(self.poll_interval)


def _unless(answer: T, is_wanted: Callable[[T], bool]) -> dict[str, Any] | None:
    return as_xcom(answer) if is_wanted(answer) else None


class GateTrigger(_AskingTrigger):
    """Waits until the gate does not block."""

    def __init__(
        self,
        *,
        datasets: Sequence[str],
        window: str,
        datacenter: str,
        pipeline: str,
        assay_conn_id: str,
        poll_interval: float,
    ) -> None:
        super().__init__(
            assay_conn_id=assay_conn_id,
            poll_interval=poll_interval,
            datasets=list(datasets),
            window=window,
            datacenter=datacenter,
            pipeline=pipeline,
        )

    def ask(self, client: AssayClient) -> dict[str, Any] | None:
        """The answer unless it blocks."""
        return _unless(client.gate(**self.extra_fields), lambda answer: not answer.blocks)


class JudgedTrigger(_AskingTrigger):
    """Waits until all that a completion triggered is judged; the completion itself is told only once, before."""

    def __init__(self, *, pipeline: str, completions: Sequence[int], assay_conn_id: str, poll_interval: float) -> None:
        super().__init__(
            assay_conn_id=assay_conn_id,
            poll_interval=poll_interval,
            pipeline=pipeline,
            completions=list(completions),
        )

    def ask(self, client: AssayClient) -> dict[str, Any] | None:
        """The answer once it is judged."""
        return _unless(client.completion(**self.extra_fields), lambda answer: answer.judged)
