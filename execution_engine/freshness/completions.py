"""How many rows completion events tell of (pure): what a window without an upstream is held to."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.time.windows import Window


@dataclass(frozen=True, kw_only=True)
class Told:
    """One completion event: the window that it names, and the rows that its run has written there, if it tells."""

    window: Window
    rows: int | None = None
    overwrites: bool | None = None  # whether the run replaced what was there; None: it does not say
    run: str = ""  # the pipeline's own name of the run: an event that comes twice counts once


def rows_told(window: Window, events: Iterable[Told], *, there: float) -> int | None:
    """The rows that should be there by the events in the order in which they came; None where none tells a number.

    Runs add to what others have written, save those that overwrite. A run that does not say so has overwritten too
    if exactly its rows are there. An event of a longer window does not say how many rows this one has.
    """
    kept: dict[object, Told] = {}
    seen: set[object] = set()
    for number, event in enumerate(event for event in events if window.contains(event.window)):
        key = (event.run, event.window) if event.run else number
        if key not in seen and event.overwrites:
            kept = {other: one for other, one in kept.items() if not event.window.contains(one.window)}
        if key not in seen or key in kept:
            kept[key] = event
        seen.add(key)
    counted = [event for event in kept.values() if event.rows is not None]
    newest = counted[-1] if counted else None
    if newest is not None and newest.overwrites is None and newest.window == window and newest.rows == there:
        return newest.rows
    return sum(event.rows or 0 for event in counted) if counted else None
