"""A multinomial naive Bayes model, and how well it predicts: what ``predictability`` is measured by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from execution_engine.metrics.spec import MetricSpec

from .predictability import SCORES

SMOOTHING = 1.0  # Laplace's
MOST_CLASSES = 1000
MOST_CELLS = 20_000_000  # words times classes: 160 MB
ROWS_AT_ONCE = 1000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Example:
    """Rows alike: their class, their words, and how many there are."""

    target: str
    words: tuple[str, ...]
    rows: int = 1


@dataclass(frozen=True, kw_only=True)
class Model:
    """log p(class), and log p(word | class) in one row for each word."""

    classes: tuple[str, ...]
    words: dict[str, int]
    prior: Floats
    likelihood: Floats

    def predict(self, examples: Sequence[Example]) -> list[str]:
        """The class of highest posterior probability for each; of equal ones the first in the order of texts."""
        found: list[str] = []
        for at in range(0, len(examples), ROWS_AT_ONCE):
            scores = np.stack([self._score(each) for each in examples[at : at + ROWS_AT_ONCE]])
            found += [self.classes[best] for best in scores.argmax(axis=1)]
        return found

    def _score(self, example: Example) -> Floats:
        known = [self.words[word] for word in example.words if word in self.words]
        scores: Floats = self.prior + self.likelihood[known].sum(axis=0)
        return scores


class UnableToLearn(ValueError):
    """There is too much to learn, or nothing."""


def learn(examples: Sequence[Example]) -> Model:
    """The model with the smoothed maximum likelihood of words: (N_ki + 1) / (N_k + |words|)."""
    classes = {name: at for at, name in enumerate(sorted({each.target for each in examples}))}
    words = {word: at for at, word in enumerate(sorted({word for each in examples for word in each.words}))}
    if len(classes) > MOST_CLASSES or len(classes) * len(words) > MOST_CELLS:
        raise UnableToLearn(f"{len(classes):,} classes of {len(words):,} words are too many; predict a coarser column")
    rows, counted = np.zeros(len(classes)), np.zeros((len(words), len(classes)))
    for each in examples:
        rows[classes[each.target]] += each.rows
        np.add.at(counted, ([words[word] for word in each.words], classes[each.target]), each.rows)
    smoothed = counted + SMOOTHING
    return Model(
        classes=tuple(classes),
        words=words,
        prior=np.log(rows / rows.sum()),
        likelihood=np.log(smoothed) - np.log(smoothed.sum(axis=0)),
    )


def score(examples: Sequence[Example], predicted: Sequence[str], which: str, average: str) -> float:
    """Precision, recall or F1 over the classes that occur in either; 0 of a class where it is 0 / 0."""
    names = sorted({each.target for each in examples} | set(predicted))
    at = {name: number for number, name in enumerate(names)}
    confused = np.zeros((len(names), len(names)))
    for each, guess in zip(examples, predicted, strict=True):
        confused[at[each.target], at[guess]] += each.rows
    true, guessed, hit = confused.sum(axis=1), confused.sum(axis=0), confused.diagonal()
    pairs = {"precision": (hit, guessed), "recall": (hit, true), "f1": (2 * hit, true + guessed)}
    above, below = pairs[which]
    of_class = np.divide(above, below, out=np.zeros(len(names)), where=below > 0)
    weights = np.ones(len(names)) if average == "macro" else true
    return float(np.average(of_class, weights=weights))


def measure(learned: Sequence[Example], held_out: Sequence[Example], spec: MetricSpec) -> tuple[float, dict[str, Any]]:
    """The score asked for, and all there are; raises UnableToLearn."""
    model = learn(learned)
    predicted = model.predict(held_out)
    average = str(spec.option("average", "macro"))
    scores = {which: score(held_out, predicted, which, average) for which in SCORES}
    rows = {"learned": sum(each.rows for each in learned), "held_out": sum(each.rows for each in held_out)}
    detail = {"scores": scores, "average": average, "rows": rows, "classes": len(model.classes)}
    return scores[str(spec.option("score", "f1"))], detail
