"""What whoever asks for novelty says, and how much past there must be."""

from enum import StrEnum

LEARNING = 8  # accepted batches before the first verdict
LAST_BATCHES = 90  # that statistics are compared with
FURTHER_WINDOWS = 3  # that come before a novel window joins the past, where nobody calls it wrong


class Method(StrEnum):
    """How batches are judged."""

    PREDICTIVE = "predictive"  # each statistic beside what its history predicts: the largest z
    NEIGHBOURS = "neighbours"  # all statistics together: the distance to the five nearest (Redyuk et al.)
    SCHEMA = "schema"  # a schema inferred from the past: any anomaly (Breck et al.)
    DRIFT = "drift"  # distances of distributions, all columns as one family: the largest (Westfall and Young)
