"""The sensor that waits until data may be read."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue
from airflow.sdk.configuration import conf

from assay_client import AssayError, GateAnswer

from .answers import answer_of, as_xcom, is_away, lineage, tell
from .hooks import AssayHook
from .triggers import GateTrigger


class GateSensor(BaseSensorOperator):
    """Waits until Assay lets the datasets be read over a window; XCom holds its answer.

    It asks every ``poke_interval`` seconds and fails after ``timeout``, like any sensor. ``deferrable`` sensors wait in
    the triggerer and hold no worker. ``window`` is a partition's key or START/END.
    """

    template_fields: Sequence[str] = ("datasets", "window", "datacenter", "pipeline")

    def __init__(
        self,
        *,
        datasets: str | Sequence[str],
        window: str,
        datacenter: str = "",
        pipeline: str = "{{ dag.dag_id }}",
        assay_conn_id: str = AssayHook.default_conn_name,
        deferrable: bool | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.datasets, self.window, self.datacenter, self.pipeline = datasets, window, datacenter, pipeline
        self.assay_conn_id = assay_conn_id
        self.deferrable = (
            conf.getboolean("operators", "default_deferrable", fallback=False) if deferrable is None else deferrable
        )

    def poke(self, context: Context) -> bool | PokeReturnValue:
        """Whether it may be read by now."""
        answer = self._answer()
        return False if answer is None or answer.blocks else PokeReturnValue(is_done=True, xcom_value=as_xcom(answer))

    def execute(self, context: Context) -> Any:
        """Wait, here or in the triggerer; where it may be read at once, nothing is deferred."""
        if not self.deferrable:
            return super().execute(context)
        answer = self._answer()
        if answer is not None and not answer.blocks:
            return as_xcom(answer)
        trigger = GateTrigger(
            datasets=[self.datasets] if isinstance(self.datasets, str) else list(self.datasets),
            window=self.window,
            datacenter=self.datacenter,
            pipeline=self.pipeline,
            assay_conn_id=self.assay_conn_id,
            poll_interval=self.poke_interval,
        )
        self.defer(trigger=trigger, method_name="resume", timeout=timedelta(seconds=self.timeout))

    def resume(self, context: Context, event: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the trigger ended with."""
        answer = answer_of(event)
        tell(GateAnswer.of(answer), self.log)
        return answer

    def get_openlineage_facets_on_start(self) -> Any:
        """What it is about to let be read, for OpenLineage."""
        return lineage(inputs=[self.datasets] if isinstance(self.datasets, str) else self.datasets)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """The same."""
        return self.get_openlineage_facets_on_start()

    def _answer(self) -> GateAnswer | None:
        """The answer by now, or None where Assay is away."""
        try:
            with AssayHook(self.assay_conn_id).get_conn() as client:
                answer = client.gate(self.datasets, self.window, datacenter=self.datacenter, pipeline=self.pipeline)
        except AssayError as error:
            if is_away(error, self.log):
                return None
            raise
        tell(answer, self.log)
        return answer
