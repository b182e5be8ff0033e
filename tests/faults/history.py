"""What became of rows, noted by triggers of the database: no worker can end a run twice without their seeing it."""

from deploy.local.servers import Database

TABLE = "faults_history"
WATCHED = (  # name, table, column that tells of a change, what is noted of it
    ("run", "execution_engine_run", "evaluated_at", "outcome"),
    ("scan", "execution_engine_scan", "ended_at", "ended_at"),
    ("notice", "alerting_notice", "settled_at", "settled_at"),
    ("standing", "alerting_standing", "state", "state"),
)


def install(database: Database) -> None:
    """Make the table and its triggers, as the administrator."""
    statements = [
        f"CREATE TABLE {TABLE} (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), row_id BIGINT, "
        "old VARCHAR(40), new VARCHAR(40))",
        *[_trigger(*each) for each in WATCHED],
        _first_standing(),
    ]
    database.execute(f"USE {database.name};\nDELIMITER //\n" + " //\n".join([*statements, ""]))


def _trigger(name: str, table: str, column: str, noted: str) -> str:
    insert = _insert(name, f"COALESCE(OLD.{noted}, '')", f"COALESCE(NEW.{noted}, '')")
    return (
        f"CREATE TRIGGER faults_{name} AFTER UPDATE ON {table} FOR EACH ROW "
        f"IF NOT (OLD.{column} <=> NEW.{column}) THEN {insert}; END IF"
    )


def _first_standing() -> str:
    return "CREATE TRIGGER faults_first_standing AFTER INSERT ON alerting_standing FOR EACH ROW " + _insert(
        "standing", "''", "NEW.state"
    )


def _insert(name: str, old: str, new: str) -> str:
    return f"INSERT INTO {TABLE} (name, row_id, old, new) VALUES ('{name}', NEW.id, {old}, {new})"
