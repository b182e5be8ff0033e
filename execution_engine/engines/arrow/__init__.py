"""Small local parquet files read by Arrow: the same SQL over the same rows as Spark's, answered in this process.

What is not surely the same here as in ``spark`` is left to it.
"""
