"""Links in messages that lead to an answer: signed, so that nobody makes one up, and good for a week.

A link is no right: whoever opens it signs in, and may do there what they may do anywhere else.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.core.signing import BadSignature, Signer

from alerting.models import Alert
from assay.config import config

LIFE = timedelta(days=7)
SALT = "assay.alerting.links"


class Answer(StrEnum):
    """What a link leads to."""

    ACKNOWLEDGE = "acknowledge"
    MUTE = "mute"


LABELS = {Answer.ACKNOWLEDGE: "Acknowledge", Answer.MUTE: "Mute"}


class UnableToFollow(ValueError):
    """A link that is not ours, or is too old; the text says which and what to do."""


@dataclass(frozen=True, kw_only=True)
class Followed:
    """What a link says."""

    answer: Answer
    alert: int


def links_of(alert: Alert, *, now: datetime, answers: tuple[Answer, ...] = tuple(Answer)) -> dict[str, str]:
    """The links of an alert's messages, by what they are called."""
    return {LABELS[answer]: f"{config().public_url}/answer/{token(alert.pk, answer, now=now)}" for answer in answers}


def token(alert: int, answer: Answer, *, now: datetime) -> str:
    """What stands in the link."""
    return Signer(salt=SALT).sign_object({"a": alert, "do": answer.value, "end": int((now + LIFE).timestamp())})


def followed(text: str, *, now: datetime) -> Followed:
    """What a token says; raises UnableToFollow."""
    try:
        said = Signer(salt=SALT).unsign_object(text)
    except (BadSignature, ValueError):
        raise UnableToFollow("This link is not whole: open it again from the message.") from None
    if now.timestamp() > said["end"]:
        raise UnableToFollow(f"This link is older than {LIFE.days} days: look for the incident on its page.")
    return Followed(answer=Answer(said["do"]), alert=said["a"])
