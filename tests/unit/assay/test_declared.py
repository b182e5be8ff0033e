"""Since when a column is declared as it is, and which windows are held to it."""

from datetime import UTC, datetime

from assay.catalog.column_types import (
    KEYS,
    OTHERS,
    Declared,
    counts_from,
    declared_columns,
    declared_since,
    in_force,
    print_of,
)

MONDAY, TUESDAY, FRIDAY = (datetime(2026, 3, day, tzinfo=UTC) for day in (9, 10, 13))
ID, NOTE = {"name": "id", "type": "bigint"}, {"name": "note", "type": "string"}


def since(*columns: dict[str, str], before: tuple[dict[str, str], ...] = (), known: datetime = MONDAY) -> list[str]:
    earlier = {column["name"]: known.isoformat() for column in before}
    found = declared_since(columns, before, earlier, now=FRIDAY)
    return [name for name, instant in found.items() if instant == FRIDAY.isoformat()]


def columns(**instants: datetime) -> tuple[Declared, ...]:
    told = {name: instant.isoformat() for name, instant in instants.items()}
    return declared_columns([ID, NOTE], told, ["ID", "day"], otherwise=MONDAY)


def test_a_new_column_is_declared_since_now_and_the_others_since_they_were() -> None:
    assert since(ID, NOTE, before=(ID,)) == ["note"]


def test_a_column_of_another_type_is_declared_anew() -> None:
    assert since({**ID, "type": "string"}, NOTE, before=(ID, NOTE)) == ["id"]


def test_a_column_that_is_spelled_with_capitals_or_marked_sensitive_is_the_same() -> None:
    assert since({**ID, "name": "Id"}, {**NOTE, "sensitive": "yes"}, before=(ID, NOTE)) == []


def test_a_column_of_which_nobody_knows_since_when_is_declared_since_now() -> None:
    assert declared_since([ID], [ID], {}, now=FRIDAY) == {"id": FRIDAY.isoformat()}


def test_a_window_is_held_to_what_was_declared_when_it_began() -> None:
    known = columns(id=MONDAY, note=FRIDAY)
    assert [column.name for column in in_force(known, begins=TUESDAY)] == ["id"]
    assert [column.name for column in in_force(known, begins=FRIDAY)] == ["id", "note"]
    assert in_force(known, begins=datetime(2026, 3, 8, tzinfo=UTC)) == ()
    assert counts_from(known) == MONDAY


def test_key_columns_are_those_of_the_keys_without_regard_to_case() -> None:
    known = columns()
    assert [column.name for column in in_force(known, KEYS)] == ["id"]
    assert [column.name for column in in_force(known, OTHERS)] == ["note"]


def test_the_print_differs_once_a_column_is_declared_anew_or_dropped() -> None:
    known = columns(id=MONDAY, note=MONDAY)
    prints = {print_of(known), print_of(known[:1]), print_of(columns(id=MONDAY, note=FRIDAY)), print_of(())}
    assert len(prints) == 4
