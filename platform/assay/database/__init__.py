"""What Django's ORM lacks: rows by the thousand, prepared queries, names in any case.

The tables are in ``models``.
"""
