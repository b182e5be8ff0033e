"""Sets of keys in Spark: digests, filters and samples, and the functions of them that SQL may call.

Their formats are in ``metrics.keys``, which knows no Spark.
"""
