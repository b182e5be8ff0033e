"""The guard between what users write in SQL and Spark: it reads, judges by allow-lists, and writes the SQL anew."""

from .condition import Condition, read_condition
from .query import Query, read_query
from .refusal import Refusal, UnableToAllow

__all__ = ["Condition", "Query", "Refusal", "UnableToAllow", "read_condition", "read_query"]
