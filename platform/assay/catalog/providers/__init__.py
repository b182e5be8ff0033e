"""The sources that the operator lists in ``ASSAY_PROVIDERS``, a module for each kind: what each says, as tellings.

Catalog files are read in ``yaml``; how tellings merge is in ``tellings``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from assay.catalog.tellings import SourceTelling

from . import datahub, dbt, elasticsearch, openmetadata, unity

Reader = Callable[[Mapping[str, Any]], SourceTelling]  # of an entry; raises UnableToReadSource

KINDS: Mapping[str, Reader] = {
    "datahub": datahub.read,
    "dbt": dbt.read,
    "elasticsearch": elasticsearch.read,
    "openmetadata": openmetadata.read,
    "unity": unity.read,
}
