"""May a window be published, and what comes next of a publication that was begun (pure)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from incident_manager.publication_state import PublicationState

# What a pointer says: a JSON document that names the audited files, the verdict, and its own checksum (pure).

FORMAT = "assay-publication/1"
CHECKSUM = "sha256"

Document = Mapping[str, Any]


class UnableToReadDocument(ValueError):
    """A text that is no whole document of ours."""


def sealed(content: Mapping[str, Any]) -> Document:
    """The document with its format and checksum."""
    document = {"format": FORMAT, **content}
    return {**document, CHECKSUM: checksum(document)}


def checksum(document: Document) -> str:
    """SHA-256, in hexadecimal, of all but the checksum: JSON with sorted keys, no spaces, in ASCII."""
    rest = {name: value for name, value in document.items() if name != CHECKSUM}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def written(document: Document) -> str:
    """The document as text."""
    return json.dumps(document, indent=2) + "\n"


def read_document(text: str) -> Document:
    """The document of a text; raises UnableToReadDocument where it is no document, or not whole."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnableToReadDocument(f"it is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnableToReadDocument(f"it is no document of the format {FORMAT}")
    if document.get(CHECKSUM) != checksum(document):
        raise UnableToReadDocument("its checksum is not that of what it says")
    return document


@dataclass(frozen=True, kw_only=True)
class AuditedTest:
    """A hard test of the window: whether it holds, and what the data looked like that it judged.

    ``excused`` says why it need not hold: somebody waived it, it is still learning, or it cannot judge this window.
    """

    id: int
    name: str
    holds: bool
    fingerprints: frozenset[str] = frozenset()  # of the files that its newest run read; empty where it read none
    says: str = ""  # why it does not hold
    excused: str = ""


def refusals(tests: Sequence[AuditedTest], *, blocked: Sequence[str], looks: str, unreadable: str) -> list[str]:
    """Why it must not be published; empty: all hard tests hold, nothing else blocks, and each has judged what is there.

    ``blocked`` is what the gate has against the window beside these tests. ``looks`` is the fingerprint of its files
    now; where it is empty, ``unreadable`` says why.
    """
    reasons = [f"{test.name}: {test.says}" for test in tests if not (test.holds or test.excused)]
    reasons += blocked
    if not looks:
        reasons.append(unreadable)
    elif not reasons:
        others = to_judge(tests, looks=looks)
        reasons += [f"{test.name} judged other data than lies there now: it is to run again" for test in others]
        if not any(test.fingerprints for test in tests if not test.excused):
            reasons.append("no hard test that holds has read this data: a publication would say nothing of it")
    return reasons


def to_judge(tests: Sequence[AuditedTest], *, looks: str) -> list[AuditedTest]:
    """The tests that have not judged what looks so now; of data that nobody can see, none."""
    return [
        test
        for test in tests
        if looks and not test.excused and (test.fingerprints - {looks} or not (test.fingerprints or test.holds))
    ]


class PublishingStep(StrEnum):
    """What to do next."""

    BEGIN = "begin"  # say that the pointer is about to move
    MOVE = "move"
    FINISH = "finish"  # write down that it has moved
    UNDO = "undo"


def next_step(state: PublicationState, *, holds: bool, points_here: bool) -> PublishingStep | None:
    """The next step of a publication, whoever stopped it where; None where it has ended.

    ``holds``: the data is still what was audited, and still holds. ``points_here``: the pointer says this publication.
    """
    if state in (PublicationState.PUBLISHED, PublicationState.UNDONE):
        return None
    if state is PublicationState.MOVING and points_here:  # it moved while it held: later changes do not undo that
        return PublishingStep.FINISH
    if not holds:
        return PublishingStep.UNDO
    return PublishingStep.BEGIN if state is PublicationState.AUDITED else PublishingStep.MOVE
