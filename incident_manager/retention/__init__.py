"""Retention: rows that have had their time are removed, a thousand at a time, in the order of their ids.

``rules`` decides (pure), ``keeping`` looks up what must stay, one module a table says what of it goes, ``walk`` goes
through a table, and ``stage`` through all of them.
"""

from .stage import prune

__all__ = ["prune"]
