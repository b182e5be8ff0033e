"""Triggers that keep a table from anything but new rows, whoever writes to it: on SQLite and on MariaDB or MySQL."""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

REFUSAL = "the audit is only ever added to"
FORBIDDEN = ("update", "delete")


def forbid(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """From now on rows of ``table`` can only be added. Whoever remakes the table must do this again."""
    permit(editor, table)  # so that it may be done twice
    is_sqlite = editor.connection.vendor == "sqlite"
    body = "BEGIN SELECT RAISE(ABORT, '{}'); END" if is_sqlite else "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{}'"
    refuse = body.format(REFUSAL)
    for what in FORBIDDEN:
        editor.execute(f"CREATE TRIGGER {table}_no_{what} BEFORE {what} ON {table} FOR EACH ROW {refuse}")
    if is_sqlite:  # whose REPLACE removes a row without telling the trigger of removals
        there = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)"
        editor.execute(f"CREATE TRIGGER {table}_no_insert BEFORE INSERT ON {table} FOR EACH ROW {there} {refuse}")


def permit(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """Undo ``forbid``."""
    for what in (*FORBIDDEN, "insert"):
        editor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{what}")
