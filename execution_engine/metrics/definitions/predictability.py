"""``predictability(target, inputs…)``: how well the inputs tell the target, by a multinomial naive Bayes model.

Features are the words of each input column, a number being one word. The model learns from four fifths of the rows,
chosen by a hash of the row, and is scored on the rest; classes that only the rest has are scored too, as missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from execution_engine.metrics.definition import (
    LAKE,
    ArgumentType,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.spec import MetricSpec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SCORES = ("precision", "recall", "f1")
AVERAGES = ("macro", "weighted")
SMOOTHING = 1.0  # Laplace's
MOST_CLASSES = 1000
MOST_CELLS = 20_000_000  # words times classes: 160 MB
ROWS_AT_ONCE = 1000


PREDICTABILITY = MetricDefinition(
    signature=Signature(
        name="predictability",
        min_columns=2,
        max_columns=None,
        options={"score": ArgumentType.TEXT, "average": ArgumentType.TEXT},
    ),
    kind=MetricKind.COMPOUND,
    formula="precision, recall or F1 of argmax_k ln p(k) + Σ f_i ln ((N_ki + 1) / (N_k + |words|)) on a held-out fifth",
    source="Schelter et al. 2018, Table 1: hasPredictability; Table 2: Predictability",
    meaning="how well the other columns predict the first",
    phrase=MetricPhrase(noun=text_noop("how well other columns predict %(first)s")),
    dimension=Dimension.ACCURACY,
    problem=lambda spec: next(
        (
            f"{option}= is one of {', '.join(choices)}, not {spec.option(option)}"
            for option, choices in (("score", SCORES), ("average", AVERAGES))
            if spec.option(option, choices[0]) not in choices
        ),
        None,
    ),
    taken_by={LAKE: "execution_engine.engines.spark.measures.query:predict"},
)

# The model and its score; numpy is imported where it is used, as many a command only names metrics.


@dataclass(frozen=True, kw_only=True)
class Example:
    """Rows alike: their class, their words, and how many there are."""

    target: str
    words: tuple[str, ...]
    rows: int = 1


class UnableToLearn(ValueError):
    """There is too much to learn, or nothing."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """log p(class), and log p(word | class) in one row for each word."""

    classes: tuple[str, ...]
    words: dict[str, int]
    prior: "npt.NDArray[np.float64]"
    likelihood: "npt.NDArray[np.float64]"

    def predict(self, examples: Sequence[Example]) -> list[str]:
        """The class of highest posterior probability for each; of equal ones the first in the order of texts."""
        import numpy as np

        predicted: list[str] = []
        for at in range(0, len(examples), ROWS_AT_ONCE):
            words = [
                [self.words[word] for word in example.words if word in self.words]
                for example in examples[at : at + ROWS_AT_ONCE]
            ]
            scores = np.stack([self.prior + self.likelihood[numbers].sum(axis=0) for numbers in words])
            predicted += [self.classes[best] for best in scores.argmax(axis=1)]
        return predicted


def learn(examples: Sequence[Example]) -> Model:
    """The model with the smoothed maximum likelihood of words: (N_ki + 1) / (N_k + |words|)."""
    import numpy as np

    classes = {name: at for at, name in enumerate(sorted({example.target for example in examples}))}
    words = {word: at for at, word in enumerate(sorted({word for example in examples for word in example.words}))}
    if len(classes) > MOST_CLASSES or len(classes) * len(words) > MOST_CELLS:
        raise UnableToLearn(f"{len(classes):,} classes of {len(words):,} words are too many; predict a coarser column")
    rows, counts = np.zeros(len(classes)), np.zeros((len(words), len(classes)))
    for example in examples:
        rows[classes[example.target]] += example.rows
        np.add.at(counts, ([words[word] for word in example.words], classes[example.target]), example.rows)
    smoothed = counts + SMOOTHING
    return Model(
        classes=tuple(classes),
        words=words,
        prior=np.log(rows / rows.sum()),
        likelihood=np.log(smoothed) - np.log(smoothed.sum(axis=0)),
    )


def score(examples: Sequence[Example], predicted: Sequence[str], which: str, average: str) -> float:
    """Precision, recall or F1 over the classes that occur in either; 0 of a class where it is 0 / 0."""
    import numpy as np

    names = sorted({example.target for example in examples} | set(predicted))
    at = {name: number for number, name in enumerate(names)}
    confused = np.zeros((len(names), len(names)))
    for example, guess in zip(examples, predicted, strict=True):
        confused[at[example.target], at[guess]] += example.rows
    true, guessed, hit = confused.sum(axis=1), confused.sum(axis=0), confused.diagonal()
    above, below = {"precision": (hit, guessed), "recall": (hit, true), "f1": (2 * hit, true + guessed)}[which]
    of_class = np.divide(above, below, out=np.zeros(len(names)), where=below > 0)
    return float(np.average(of_class, weights=np.ones(len(names)) if average == "macro" else true))


def measure(learned: Sequence[Example], held_out: Sequence[Example], spec: MetricSpec) -> tuple[float, dict[str, Any]]:
    """The score asked for, and all there are; raises UnableToLearn."""
    model = learn(learned)
    predicted, average = model.predict(held_out), str(spec.option("average", "macro"))
    scores = {which: score(held_out, predicted, which, average) for which in SCORES}
    rows = {"learned": sum(item.rows for item in learned), "held_out": sum(item.rows for item in held_out)}
    detail = {"scores": scores, "average": average, "rows": rows, "classes": len(model.classes)}
    return scores[str(spec.option("score", "f1"))], detail
