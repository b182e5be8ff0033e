"""Catalogs read: from files, by command or as scheduled, written whole or tried without writing.

What becomes of the tests follows in ``generation``.
"""
