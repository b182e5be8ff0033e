"""Names of datasets: one without regard to case, as in Hive and Spark."""

from collections.abc import Collection
from hashlib import blake2s


def name_key(full_name: str) -> str:
    """The same for all spellings of one name, and different for different names, whatever a database's collation."""
    return blake2s(full_name.lower().encode(), digest_size=16).hexdigest()


def name_keys(full_names: Collection[str]) -> list[str]:
    """The keys of several names."""
    return [name_key(name) for name in full_names]
