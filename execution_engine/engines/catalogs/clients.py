"""Catalogs of pyiceberg that answer within seconds, and open no file."""

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, OutputFile
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from assay.iceberg_catalogs import Catalog
from execution_engine.engines.files.stores import CONNECT_SECONDS, REQUEST_SECONDS, TRIES

_PROPERTIES = {"token_uri": "oauth2-server-uri"}  # fields that pyiceberg calls otherwise


class MetadataPlace(Exception):
    """Where the metadata of a table lies."""

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(location)


class PlaceOnly(FileIO):
    """Opens nothing: whoever asks for a file learns that its place is known."""

    def new_input(self, location: str) -> InputFile:
        """Raise MetadataPlace."""
        raise MetadataPlace(location)

    def new_output(self, location: str) -> OutputFile:
        """Raise MetadataPlace."""
        raise MetadataPlace(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Raise MetadataPlace."""
        raise MetadataPlace(str(location))


class QuickRestCatalog(RestCatalog):
    """A REST catalog of which every request, that for a token too, has a short time."""

    def _config_headers(self, session: Session) -> None:
        super()._config_headers(session)
        for scheme in ("http://", "https://"):
            session.mount(scheme, _QuickAdapter())


class _QuickAdapter(HTTPAdapter):
    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        return super().send(request, *args, **{**kwargs, "timeout": (CONNECT_SECONDS, REQUEST_SECONDS)})


def open_catalog(catalog: Catalog, values: Mapping[str, str]) -> PyIcebergCatalog:
    """The catalog, given its fields with secrets read; what it raises is pyiceberg's, or of the library beneath."""
    properties = {_PROPERTIES.get(name, name): value for name, value in values.items() if value}
    properties[PY_IO_IMPL] = f"{PlaceOnly.__module__}.{PlaceOnly.__name__}"
    if catalog.type == "rest":
        properties.setdefault("oauth2-server-uri", f"{properties['uri'].rstrip('/')}/v1/oauth/tokens")
        return QuickRestCatalog(catalog.name, **properties)
    if catalog.type == "hive":
        return _hive(catalog.name, properties)
    return _glue(catalog.name, properties)


def _hive(name: str, properties: dict[str, str]) -> PyIcebergCatalog:
    from pyiceberg.catalog.hive import HiveCatalog  # with it thrift

    return HiveCatalog(name, **properties)


def _glue(name: str, properties: dict[str, str]) -> PyIcebergCatalog:
    import boto3
    from botocore.config import Config
    from pyiceberg.catalog.glue import GlueCatalog

    client = boto3.client(
        "glue",
        region_name=properties.get("region"),
        endpoint_url=properties.get("endpoint"),
        aws_access_key_id=properties.get("access_key"),
        aws_secret_access_key=properties.get("secret_key"),
        aws_session_token=properties.get("session_token"),
        config=Config(
            connect_timeout=CONNECT_SECONDS, read_timeout=REQUEST_SECONDS, retries={"total_max_attempts": TRIES}
        ),
    )
    return GlueCatalog(name, client=client, **properties)
