"""The ids by which the log lines of one piece of work are found."""

from django.db.models import Model

REFERRED = ("run", "scan", "incident", "alert")


def log_ids(stage: str, row: Model) -> dict[str, str | int]:
    """What every line says that is logged while ``row`` is worked: its stage, its id, and those it refers to."""
    named = {name: getattr(row, f"{name}_id", None) for name in REFERRED}
    named[type(row).__name__.lower()] = row.pk
    return {"stage": stage, **{name: key for name, key in named.items() if key is not None}}
