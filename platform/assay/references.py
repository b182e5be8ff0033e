"""What settings refer to: secrets by ``env:NAME`` or ``file:/PATH``, and entries in JSON or in a YAML file."""

import json
import os
import re
from pathlib import Path

REFERENCE = re.compile(r"env:\w+|file:/.+")
HOW = "write env:NAME, a variable of the environment, or file:/PATH, a file that holds it"
_WHERE = "set it where the workers and this command run"


class UnableToReadSecret(ValueError):
    """A secret cannot be read where its setting says it is; the sentence does not hold it."""


def read_secret(reference: str, owner: str) -> str:
    """The value behind a reference, read anew each time as keys are replaced; empty for no reference.

    Raises UnableToReadSecret, whose sentence begins with the ``owner``: ``the store … takes its secret_key``.
    """
    kind, _, where = reference.partition(":")
    if kind == "env" and where not in os.environ:
        raise UnableToReadSecret(f"{owner} from {where}, which is not set: {_WHERE}")
    if kind == "env":
        return os.environ[where]
    try:
        return Path(where).read_text(encoding="utf-8").strip() if kind == "file" else ""
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UnableToReadSecret(f"{owner} from the file {where}, which cannot be read ({why}): {_WHERE}") from None


def parse_entries(text: str) -> object:
    """What JSON, or a YAML file that the text names, holds; ValueError says what is wrong without showing a line."""
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ValueError(f"it is no JSON: {error}") from None
    import yaml

    try:
        return yaml.safe_load(Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"the file {text} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:  # whose text may show a line of the file
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"the file {text} is no YAML" + (f" (line {mark.line + 1})" if mark else "")) from None
