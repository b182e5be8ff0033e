"""What a replica may be stored as, and the options that each storage takes."""

from collections.abc import Mapping
from difflib import get_close_matches

FILES = ("parquet", "orc", "csv", "json")  # folders of files, read through Spark

_TEXTS = ("encoding", "lineSep", "multiLine", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale", "mode")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "parquet": (),
    "orc": (),
    "csv": (
        *("header", "delimiter", "quote", "escape", "comment", "nullValue", "emptyValue", "nanValue"),
        *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", *_TEXTS),
    ),
    "json": ("allowComments", "allowSingleQuotes", "allowUnquotedFieldNames", *_TEXTS),
    "table": (),
    "sql": ("table", "schema"),
}
STORAGES = tuple(OPTIONS)
MODES = ("FAILFAST", "PERMISSIVE")


def check_options(storage: str, options: Mapping[str, str]) -> None:
    """Raise ValueError for the first option that the storage does not take, or not so."""
    known = OPTIONS[storage]
    for name, value in options.items():
        if name not in known:
            near = get_close_matches(name, known)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"{storage} takes no option {name!r}: {hint}known here: {', '.join(known) or 'none'}")
        if name == "mode" and value not in MODES:
            raise ValueError(f"mode is {value!r}: write {' or '.join(MODES)}")
