"""What Django's ORM lacks: many rows in one statement, prepared queries, tables that only grow, failures of storage.

The tables are in ``models``.
"""
