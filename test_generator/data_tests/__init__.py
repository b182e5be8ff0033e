"""Data tests written: created, revised and retired, each parsed and type-checked first.

Which tests a dataset should have is decided in ``generation``.
"""
