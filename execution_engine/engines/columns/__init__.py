"""The columns of a table: their types, their names in SQL, and what can be said against a question from them alone.

No data is read here.
"""
