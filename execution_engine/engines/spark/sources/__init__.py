"""A part of a table as a DataFrame, from files of each kind, Spark's catalog or the caller's own frame.

What is measured of it is in ``measures`` and ``keys``.
"""
