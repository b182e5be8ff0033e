"""Catalogs of Iceberg, asked where the metadata of their tables lie now: by rows of a database, or by pyiceberg.

What those metadata say is read in ``files``; Spark's own catalog is asked in ``spark``.
"""
