"""What Django's ORM lacks: rows by the thousand, prepared queries, names in any case, tables that only grow.

The tables are in ``models``.
"""
