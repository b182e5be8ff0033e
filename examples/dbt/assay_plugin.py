"""A plugin of dbt-duckdb: two SQL functions that ask Assay's API. It needs nothing but Python.

``assay_gate(pipeline, dataset, window)`` and ``assay_completed(pipeline, dataset, window, wait)`` give one line: the
decision (``allow``, ``warn`` or ``block``), a colon, and why. A window is a partition's key, or START/END in ISO 8601.
"""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

PATIENCE = 330  # seconds for one answer; the API waits up to 300 for a verdict


class Plugin(BasePlugin):
    """Registers the functions on every connection."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Where Assay is, and with what it is asked."""
        self._url, self._token = plugin_config["url"].rstrip("/"), plugin_config["token"]

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Add the functions; DuckDB must neither leave out a call nor repeat it."""
        texts = ["VARCHAR", "VARCHAR", "VARCHAR"]
        conn.create_function("assay_gate", self.gate, texts, "VARCHAR", side_effects=True)
        conn.create_function("assay_completed", self.completed, [*texts, "DOUBLE"], "VARCHAR", side_effects=True)

    def gate(self, pipeline: str, dataset: str, window: str) -> str:
        """May the pipeline read the window now?"""
        return self._ask("gate", {"datasets": [dataset], "window": window, "pipeline": pipeline})

    def completed(self, pipeline: str, dataset: str, window: str, wait: float) -> str:
        """Tell that the pipeline has written the window, and wait so many seconds for the verdict."""
        outputs = [{"dataset": dataset, "window": window, "mode": "overwrite"}]
        return self._ask(f"pipelines/{quote(pipeline, safe='')}/completed", {"outputs": outputs, "wait": wait})

    def _ask(self, resource: str, body: dict[str, Any]) -> str:
        headers = {"Authorization": f"Token {self._token}", "Content-Type": "application/json"}
        request = Request(f"{self._url}/api/v1/{resource}", json.dumps(body).encode(), headers, method="POST")
        try:
            with urlopen(request, timeout=PATIENCE) as response:
                answer = json.load(response)
        except HTTPError as error:  # its body says what is wrong and how to mend it
            raise RuntimeError(
                f"Assay refused {resource}: {error.code} {error.read().decode(errors='replace')}"
            ) from None
        why = "; ".join(f"{reason['test'] or reason['dataset']}: {reason['text']}" for reason in answer["reasons"])
        judged = "" if answer.get("judged", True) else " (not judged yet)"
        return f"{answer['decision']}{judged}: {why or 'nothing is wrong'}"
