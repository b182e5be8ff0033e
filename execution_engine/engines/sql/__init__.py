"""Metrics measured by a database, in SQL written once and run through SQLAlchemy.

Tables of the lake are read in ``spark``.
"""
