"""Kernels over row groups of parquet files: what Spark's aggregate functions give, with pyarrow and numpy.

What is not surely the same here as in ``spark`` is left to it.
"""
