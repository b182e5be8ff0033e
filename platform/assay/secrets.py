"""Secrets stay out of the catalog: a location may say ``env:NAME``, and is read from the environment when used."""

from collections.abc import Mapping

PREFIX = "env:"


class UnableToFindSecret(LookupError):
    """An environment variable that the catalog names is not set."""


def reveal(text: str, environ: Mapping[str, str]) -> str:
    """``text`` itself, or the variable that ``env:NAME`` names; raises UnableToFindSecret."""
    if not text.startswith(PREFIX):
        return text
    name = text.removeprefix(PREFIX)
    if name not in environ:
        raise UnableToFindSecret(f"The catalog says {text!r}, but {name} is not set: set it where the worker runs.")
    return environ[name]
