"""Kinds of ``ASSAY_PROVIDERS`` that ask what the engines ask: catalogs of Iceberg and Spark, folders of Delta.

Those that need no engine are in ``assay.catalog.providers``; all of them are here.
"""

from collections.abc import Mapping

from assay.catalog.providers import KINDS as KINDS_WITHOUT_ENGINES
from assay.catalog.providers import Reader
from assay.catalog.providers.entries import ALL
from assay.catalog.tellings import SourceTelling, UnableToReadSource
from assay.provider_entries import ProviderEntry

from . import database, delta, iceberg, spark

KINDS: Mapping[str, Reader] = {
    **KINDS_WITHOUT_ENGINES,
    "delta": delta.read,
    "iceberg": iceberg.read,
    "spark": spark.read,
    "sql": database.read,
}


def read_provider(provider: ProviderEntry, most: int = ALL) -> SourceTelling:
    """What a provider tells now, or about the first ``most`` tables of it.

    Raises UnableToReadSource, with the name of the provider, also for an answer that no reader can use.
    """
    if (read := KINDS.get(provider.kind)) is None:
        raise UnableToReadSource(
            f"the provider {provider.name} has the kind {provider.kind!r}, which there is not: write {', '.join(KINDS)}"
        )
    try:
        return read(provider.entry, most)
    except UnableToReadSource as unable:
        raise UnableToReadSource(f"the provider {provider.name}: {unable}") from None
    except Exception as error:  # whatever a stranger's document makes a reader raise, it tells of nothing
        what = f"{type(error).__name__}: {error}"
        raise UnableToReadSource(
            f"the provider {provider.name}: its answer is not what {provider.kind} answers ({what:.300}); "
            "nothing of it is written"
        ) from error
