"""The type check of an assertion, made when a test is written: against the metrics' signatures and the columns.

It reads no data and no database; what it knows of a dataset is handed to it as a ``Schema``.
"""
