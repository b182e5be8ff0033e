"""The files of a table: found, told apart by fingerprints, and read as far as their footers tell.

Rows are read in ``native`` and in ``spark``.
"""
