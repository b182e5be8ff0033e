"""Kinds of ``ASSAY_PROVIDERS`` that ask what the engines ask: catalogs of Iceberg and Spark, folders of Delta.

Those that need no engine are in ``assay.catalog.providers``; all of them are here.
"""

from collections.abc import Mapping

from assay.catalog.providers import KINDS as KINDS_WITHOUT_ENGINES
from assay.catalog.providers import Reader

from . import database, delta, iceberg, spark

KINDS: Mapping[str, Reader] = {
    **KINDS_WITHOUT_ENGINES,
    "delta": delta.read,
    "iceberg": iceberg.read,
    "spark": spark.read,
    "sql": database.read,
}
