"""The guard between what users write in SQL and Spark: it reads, judges by allow-lists, and writes the SQL anew.

What is allowed beyond syntax, such as which columns there are, is asked by the engines.
"""

from .query import Condition as Condition
from .query import Query as Query
from .query import in_sql as in_sql
from .query import read_condition as read_condition
from .query import read_query as read_query
from .refusal import Refusal as Refusal
from .refusal import UnableToAllow as UnableToAllow
