"""The words for stored values that a reader would not understand; the API gives the stored values themselves."""

PLAIN = {
    "forced": "false positive",
    "spoilt": "bad",
    "rerun": "run again",
    "silenced": "muted",
    "inhibited by its cause": "muted: its cause was told",
    "resolved within grace": "resolved before its notice was due",
    "never told of the incident": "was not told of the incident",
}


def plain(value: str) -> str:
    """The words that a page shows for a stored value."""
    return PLAIN.get(value, value)
