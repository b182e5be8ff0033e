"""Who runs the checks; each a module with a ``CONTENDER``, imported where its library is."""

from importlib import import_module

from .protocol import Contender

OWN = ("ours", "ours_on_frame", "ours_without_kernels", "one_query_each")
PEERS = ("cuallee", "great_expectations", "soda")
ALONE = ("duckdb_alone", "polars_alone")  # single machines, without Spark
NAMES = ("g", *OWN, *PEERS, *ALONE)


def contender(name: str) -> Contender:
    """The contender of that name; ImportError in an environment that lacks its library."""
    made: Contender = import_module(f"{__name__}.{name}").CONTENDER()
    return made
