import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from execution_engine.metrics.definitions import predictability
from execution_engine.metrics.definitions.predictability import AVERAGES, Example, UnableToLearn, learn, measure, score
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec

WORDS = st.lists(st.sampled_from(["0=a", "0=b", "1=a", "1=東"]), min_size=1, max_size=4)
EXAMPLES = st.lists(
    st.builds(
        lambda target, words, rows: Example(target=target, words=tuple(words), rows=rows),
        st.sampled_from(["red", "green", "blue"]),
        WORDS,
        st.integers(1, 5),
    ),
    min_size=2,
    max_size=20,
)
CLASSES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd"), st.integers(1, 9)), min_size=1)


@pytest.mark.thorough
@given(examples=EXAMPLES)
def test_probabilities_are_those_of_scikit_learn(examples: list[Example]) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    assume(len({each.target for each in examples}) > 1)
    vectors = CountVectorizer(analyzer=lambda words: words)
    features = vectors.fit_transform([each.words for each in examples])
    reference = MultinomialNB(alpha=1).fit(
        features, [each.target for each in examples], [each.rows for each in examples]
    )
    model = learn(examples)
    assert model.classes == tuple(reference.classes_)
    assert model.prior == pytest.approx(reference.class_log_prior_)
    assert np.allclose(model.likelihood.T, reference.feature_log_prob_)


@pytest.mark.thorough
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("which", ["precision", "recall", "f1"])
@given(guesses=CLASSES)
def test_scores_are_those_of_scikit_learn(which: str, average: str, guesses: list[tuple[str, str, int]]) -> None:
    from sklearn import metrics

    examples = [Example(target=target, words=(), rows=rows) for target, _, rows in guesses]
    true, predicted, rows = zip(*guesses, strict=True)
    expected = getattr(metrics, f"{which}_score")(true, predicted, average=average, sample_weight=rows, zero_division=0)
    assert score(examples, predicted, which, average) == pytest.approx(expected)


def test_a_word_that_was_never_seen_says_nothing() -> None:
    model = learn([Example(target="a", words=("x",), rows=2), Example(target="b", words=("y",))])
    assert model.predict([Example(target="?", words=("new", "y")), Example(target="?", words=("new",))]) == ["b", "a"]


def test_too_many_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictability, "MOST_CLASSES", 2)
    with pytest.raises(UnableToLearn, match="3 classes of 1 words"):
        learn([Example(target=name, words=("x",)) for name in "abc"])


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("score", "accuracy", "score= is one of precision, recall, f1, not accuracy"),
        ("average", "micro", "average= is one of macro, weighted, not micro"),
        ("average", "weighted", None),
    ],
)
def test_an_unknown_score_is_answered_with_those_there_are(option: str, value: str, said: str | None) -> None:
    problem = METRICS["predictability"].problem
    assert problem is not None
    assert problem(MetricSpec(name="predictability", columns=("a", "b"), options=((option, value),))) == said


def test_it_is_measured_on_rows_that_nothing_was_learned_from() -> None:
    learned = [Example(target="a", words=("x",), rows=2), Example(target="b", words=("y",), rows=3)]
    held_out = [
        Example(target=target, words=(word,), rows=rows)
        for target, word, rows in (("a", "x", 3), ("a", "y", 1), ("b", "y", 2))
    ]
    value, detail = measure(learned, held_out, MetricSpec(name="predictability"))
    assert detail == {
        "scores": {
            "precision": pytest.approx((1 + 2 / 3) / 2),
            "recall": pytest.approx((3 / 4 + 1) / 2),
            "f1": pytest.approx((6 / 7 + 4 / 5) / 2),
        },
        "average": "macro",
        "rows": {"learned": 5, "held_out": 6},
        "classes": 2,
    }
    options = (("average", "weighted"), ("score", "recall"))
    weighted, _ = measure(learned, held_out, MetricSpec(name="predictability", options=options))
    assert value == detail["scores"]["f1"]
    assert weighted == pytest.approx(5 / 6)
