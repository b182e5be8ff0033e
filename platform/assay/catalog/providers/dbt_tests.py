"""dbt's generic tests in the assertion language, where they mean the same there (pure)."""

import re
from collections.abc import Mapping
from typing import Any

PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
NUMERIC = re.compile(
    r"(tiny|small|medium|big|huge|u)?int(eger)?\d*|long|short|byte|float\d*|double|real|number|numeric|decimal", re.I
)
DIALECTS = {"sqlserver": "tsql", "fabric": "tsql", "athena": "trino", "glue": "spark"}  # adapters called otherwise
AS_USUAL = {"fail_calc": "count(*)", "warn_if": "!= 0", "error_if": "!= 0", "limit": None}  # else a test means more


class UnableToTranslate(ValueError):
    """A test means something that no assertion does; the sentence says what."""


def translate(test: Mapping[str, Any], *, adapter: str, types: Mapping[str, str], dataset_of: str) -> str:
    """The assertion of a node of a manifest; raises UnableToTranslate.

    ``types`` are those of the columns, by name in lower case; ``dataset_of`` is the dataset to which a relationship
    leads. dbt lets nulls pass in all but ``not_null``.
    """
    metadata, config = test["test_metadata"], test.get("config") or {}
    kind = f"{metadata['namespace']}.{metadata.get('name')}" if metadata.get("namespace") else metadata.get("name")
    arguments = metadata.get("kwargs") or {}
    for name, usual in AS_USUAL.items():
        if config.get(name, usual) not in (usual, None):
            raise UnableToTranslate(f"it has {name}: {config[name]}")
    column = str(arguments.get("column_name") or test.get("column_name") or "")
    column = column.strip('"`') if column[:1] in '"`' else column
    where = _where(config.get("where"), adapter)
    match kind:
        case "not_null":
            return f"completeness({_name(column)}{where}) = 1"
        case "unique":
            return f"uniqueness({_name(column)}{where}) = 1"
        case "accepted_values":
            values = _values(arguments, types.get(column.lower(), ""))
            quoted = _quoted(column)
            return f'compliance("{quoted} is null or {quoted} in ({values})"{where}) = 1'
        case "relationships":
            if not dataset_of:
                raise UnableToTranslate("it leads to what is no table")
            field = str(arguments.get("field")).strip('"`')
            _text(field)
            to = "" if field.lower() == column.lower() else f", to='{field}'"
            return f"referential_integrity({_name(column)}, '{dataset_of}'{to}{where}) = 1"
        case "dbt_utils.unique_combination_of_columns":
            names = ", ".join(_name(str(name)) for name in arguments.get("combination_of_columns") or ())
            return f"uniqueness({names}{where}) = 1"
        case "dbt_utils.accepted_range":
            low, high = arguments.get("min_value"), arguments.get("max_value")
            if not (_is_number(low) and _is_number(high)) or arguments.get("inclusive") is False:
                raise UnableToTranslate("it has no two numbers, both inclusive")
            return f"in_range({_name(column)}, {low}, {high}{where}) = 1"
    raise UnableToTranslate(
        f"{kind} is none of dbt's own tests" if metadata.get("namespace") is None else f"{kind} has no equal"
    )


def _values(arguments: Mapping[str, Any], type_: str) -> str:
    """The accepted values as SQL; those of a numeric column are numbers, though dbt may quote them."""
    values = arguments.get("values")
    if not isinstance(values, list) or not values:
        raise UnableToTranslate("it has no list of values")
    texts = [("true" if value else "false") if isinstance(value, bool) else str(value) for value in values]
    is_bare = arguments.get("quote") is False or NUMERIC.match(type_)
    if is_bare and all(NUMBER.fullmatch(text) or text in ("true", "false") for text in texts):
        return ", ".join(texts)
    if arguments.get("quote") is False:
        raise UnableToTranslate("its values are expressions of SQL")
    return ", ".join(f"'{_text(text)}'" for text in texts)


def _where(condition: object, adapter: str) -> str:
    """The rows that a test is of, in Spark's SQL."""
    if not condition:
        return ""
    if not isinstance(condition, str) or "{" in condition:
        raise UnableToTranslate(f"where holds what dbt fills in: {condition!s:.100}")
    from sqlglot import parse_one
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    dialect = DIALECTS.get(adapter, adapter)
    try:
        text = parse_one(condition, read=Dialect.get(dialect)).sql(dialect="spark")
    except SqlglotError:
        raise UnableToTranslate(f"where is no condition of {adapter or 'SQL'}: {condition:.100}") from None
    return ', where="' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    """The text, where it stands for itself within quotes of SQL and of an assertion."""
    if re.search(r"['\"\\\n{}]", text):
        raise UnableToTranslate(f"a text in it holds a quote, a backslash or a brace: {text!r:.60}")
    return text


def _name(column: str) -> str:
    """A column as assertions write it."""
    if not column:
        raise UnableToTranslate("it names no column, but an expression")
    return column if PLAIN.fullmatch(column) else _quoted(column)


def _quoted(column: str) -> str:
    if '"' in column:
        raise UnableToTranslate(f"the column {column!r:.60} holds a quote")
    return "`" + column.replace("`", "``") + "`"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
