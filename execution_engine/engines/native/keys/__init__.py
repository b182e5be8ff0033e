"""Kernels over the keys of row groups: their texts and hashes as Spark writes them, and what a task gathers of these.

Jobs of Spark's that run them are in ``spark.keys``; the states that are made of hashes are in ``metrics.keys``.
"""
