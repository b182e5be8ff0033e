"""What a standing says of data, as it may be shown now."""

from alerting.models import Standing
from execution_engine.runs.shown_results import HIDDEN, Veil


def is_hidden(standing: Standing, veil: Veil) -> bool:
    """Whether what it last held or broke by must not be told any more."""
    return standing.last_outcome != "" and veil.hides(standing.revision, standing.data_test.dataset)


def sentence_of(standing: Standing, veil: Veil) -> str:
    """Its sentence, or that there is none to show."""
    return HIDDEN if is_hidden(standing, veil) else standing.sentence
