"""The sources that the operator lists in ``ASSAY_PROVIDERS``, a module for each kind: what each says, as tellings.

Catalog files are read in ``yaml``; how tellings merge is in ``tellings``.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from assay.catalog.tellings import SourceTelling

from . import datahub, dbt, elasticsearch, openmetadata, unity
from .entries import ALL


class Reader(Protocol):
    """Reads what an entry names, or about the first ``most`` tables of it; raises UnableToReadSource."""

    def __call__(self, entry: Mapping[str, Any], most: int = ALL, /) -> SourceTelling: ...


KINDS: Mapping[str, Reader] = {
    "datahub": datahub.read,
    "dbt": dbt.read,
    "elasticsearch": elasticsearch.read,
    "openmetadata": openmetadata.read,
    "unity": unity.read,
}
