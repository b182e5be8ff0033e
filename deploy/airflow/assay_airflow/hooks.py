"""The connection to Assay."""

from typing import Any

from airflow.sdk import BaseHook, Connection

from assay_client import AssayClient, AssayError

TRIED = "select * from assay.connection_that_is_tried"  # asks for a table that no catalog knows: nothing is recorded
TIMEOUT = 30.0  # seconds, of one request


class AssayHook(BaseHook):
    """Makes clients of the Assay that a connection names: its host is the URL, its password the token."""

    conn_name_attr = "assay_conn_id"
    default_conn_name = "assay_default"
    conn_type = "assay"
    hook_name = "Assay"

    def __init__(self, assay_conn_id: str = default_conn_name, **more: Any) -> None:
        super().__init__(**more)
        self.assay_conn_id = assay_conn_id

    def get_conn(self) -> AssayClient:
        """A client; close it, or use it in a ``with`` block. Raises AssayError for a connection without a host."""
        return client_of(self.get_connection(self.assay_conn_id))

    async def aget_conn(self) -> AssayClient:
        """The same where nothing may block; what is then asked of the client does block."""
        return client_of(await self.aget_connection(self.assay_conn_id))

    def test_connection(self) -> tuple[bool, str]:
        """Whether Assay answers and takes the token for questions."""
        try:
            with self.get_conn() as client:
                client.query_quality(TRIED)
        except AssayError as error:
            return False, str(error)
        return True, f"Assay answers at {client.url}."

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """How the form of a connection looks."""
        return {
            "hidden_fields": ["login", "schema", "port", "extra"],
            "relabeling": {"host": "URL", "password": "Token"},
            "placeholders": {"host": "https://assay.example.com"},
        }


def client_of(connection: Connection) -> AssayClient:
    """A client of this connection; raises AssayError where it names no host."""
    timeout = float(connection.extra_dejson.get("timeout") or TIMEOUT)
    return AssayClient(url_of(connection), connection.password or "", timeout=timeout)


def url_of(connection: Connection) -> str:
    """Its host as it stands where that is a URL; else with the schema (https if there is none) and the port."""
    host = connection.host or ""
    if not host or "://" in host:
        return host
    port = f":{connection.port}" if connection.port else ""
    return f"{connection.schema or 'https'}://{host}{port}"
