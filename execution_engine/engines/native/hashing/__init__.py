"""Hashes of values as Spark and its sketches make them, for many rows at once.

What a hash is of, and what hashes are gathered into, is told outside: of keys in ``keys``, of sketches in ``partials``.
"""
