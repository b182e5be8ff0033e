"""A filter of the format ``pybloom`` as pybloom_live's own."""

from io import BytesIO

from pybloom_live import BloomFilter

from .filter import KeyFilter
from .filter_shape import Format


def as_pybloom(found: KeyFilter) -> BloomFilter:
    """pybloom_live's filter, which knows a key by ``keys.encode``; of a checked one only, as it believes its file."""
    if found.shape.format is not Format.PYBLOOM:
        raise ValueError(f"a filter of the format {found.shape.format} is none of pybloom_live's")
    return BloomFilter.fromfile(BytesIO(found.body))
