"""The operators: may it be read, and what was written."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException

from assay_client import GateAnswer

from .answers import OnBlock, answer_of, as_xcom, demand_on_block, lineage, stop_if_blocked, tell
from .hooks import AssayHook
from .triggers import JudgedTrigger

XCOM_KEY = "return_value"  # Airflow's own: what a task returns; here it must be there for one that fails too


class GateOperator(BaseOperator):
    """Asks once whether the datasets may be read over a window; XCom holds the answer, whatever it is.

    On ``block`` it fails with the reasons (and is tried again as ``retries`` says), or with ``on_block="skip"`` skips
    what follows. On ``warn`` it logs the reasons and goes on. ``window`` is a partition's key or START/END.
    """

    template_fields: Sequence[str] = ("datasets", "window", "datacenter", "pipeline")

    def __init__(
        self,
        *,
        datasets: str | Sequence[str],
        window: str,
        datacenter: str = "",
        pipeline: str = "{{ dag.dag_id }}",
        on_block: OnBlock = "fail",
        assay_conn_id: str = AssayHook.default_conn_name,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        demand_on_block(on_block)
        self.datasets, self.window, self.datacenter, self.pipeline = datasets, window, datacenter, pipeline
        self.on_block, self.assay_conn_id = on_block, assay_conn_id

    def execute(self, context: Context) -> None:
        """Ask, and stop here if it blocks."""
        with AssayHook(self.assay_conn_id).get_conn() as client:
            answer = client.gate(self.datasets, self.window, datacenter=self.datacenter, pipeline=self.pipeline)
        tell(answer, self.log)
        context["ti"].xcom_push(key=XCOM_KEY, value=as_xcom(answer))
        stop_if_blocked(answer, on_block=self.on_block)

    def get_openlineage_facets_on_start(self) -> Any:
        """What it is about to let be read, for OpenLineage."""
        return lineage(inputs=[self.datasets] if isinstance(self.datasets, str) else self.datasets)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """The same."""
        return self.get_openlineage_facets_on_start()


class CompletedOperator(BaseOperator):
    """Tells Assay which windows the pipeline has written, so that their tests run; XCom holds the answer.

    ``outputs`` are mappings of ``dataset``, ``window`` and, as wanted, ``datacenter``, ``rows`` and ``mode``. With
    ``wait`` the task ends when these tests have been judged: it fails (or skips, by ``on_block``) where the outputs are
    blocked then, or after ``timeout`` seconds. ``deferrable`` tasks wait in the triggerer.
    """

    template_fields: Sequence[str] = ("outputs", "pipeline", "run")

    def __init__(
        self,
        *,
        outputs: Sequence[Mapping[str, Any]],
        pipeline: str = "{{ dag.dag_id }}",
        run: str = "{{ run_id }}",
        wait: bool = False,
        timeout: float = 3600,
        poll_interval: float = 10,
        deferrable: bool | None = None,
        on_block: OnBlock = "fail",
        assay_conn_id: str = AssayHook.default_conn_name,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        demand_on_block(on_block)
        self.outputs, self.pipeline, self.run = outputs, pipeline, run
        self.wait, self.timeout, self.poll_interval = wait, timeout, poll_interval
        self.deferrable = (
            conf.getboolean("operators", "default_deferrable", fallback=False) if deferrable is None else deferrable
        )
        self.on_block, self.assay_conn_id = on_block, assay_conn_id

    def execute(self, context: Context) -> None:
        """Tell, and wait if wanted."""
        is_deferred = self.wait and self.deferrable
        with AssayHook(self.assay_conn_id).get_conn() as client:
            here = self.timeout if self.wait and not is_deferred else 0
            answer = client.completed(self.pipeline, self.outputs, run=self.run, wait=here)
        if is_deferred and not answer.judged:
            trigger = JudgedTrigger(
                pipeline=self.pipeline,
                completions=answer.completions,
                assay_conn_id=self.assay_conn_id,
                poll_interval=self.poll_interval,
            )
            self.defer(trigger=trigger, method_name="resume", timeout=timedelta(seconds=self.timeout))
        self._end(context, as_xcom(answer))

    def resume(self, context: Context, event: dict[str, Any] | None = None) -> None:
        """What the trigger ended with."""
        self._end(context, answer_of(event))

    def get_openlineage_facets_on_start(self) -> Any:
        """What was written, for OpenLineage."""
        return lineage(outputs=[str(output["dataset"]) for output in self.outputs])

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """The same."""
        return self.get_openlineage_facets_on_start()

    def _end(self, context: Context, body: dict[str, Any]) -> None:
        answer = GateAnswer.of(body)
        context["ti"].xcom_push(key=XCOM_KEY, value=body)
        if not self.wait:
            self.log.info("Assay knows of it; its tests run now.")
            return
        tell(answer, self.log)
        if not body["judged"]:
            raise AirflowException(f"Assay has not judged the outputs within {self.timeout:g} s.")
        stop_if_blocked(answer, on_block=self.on_block)
