"""What the values of a test measure, as the heading of its chart says it."""

from collections.abc import Mapping

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

from alerting.titles import WHOLE, operand_titles
from assay.models import Category, DataTest, Origin
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import By

STANDARD: Mapping[str, str] = {  # tests that Assay writes, by how their names begin
    "freshness": gettext_noop("Time until it is complete"),
    "completeness": gettext_noop("Rows, as a share of those in %(of)s"),
    "completeness-sample": gettext_noop("Share of the rows drawn from %(of)s that are there"),
    "duplicates": gettext_noop("Share of the rows that are duplicates"),
    "consistency-count": gettext_noop("Rows in %(other)s, as a share of those in %(here)s"),
    "consistency-bloom": gettext_noop("Share of the keys of %(here)s that are in %(other)s"),
}
PER: Mapping[str, str] = {
    "hour": gettext_noop("%(measure)s, by hour"),
    "day": gettext_noop("%(measure)s, by day"),
    "week": gettext_noop("%(measure)s, by week"),
    "month": gettext_noop("%(measure)s, by month"),
}


def measure_of(data_test: DataTest) -> str:
    """The metric with its columns, and the kind of partition that each value is of."""
    measure, dataset = _measure(data_test), data_test.dataset
    if data_test.name.endswith(WHOLE) or not dataset.partition_column:
        return measure
    return gettext(PER[dataset.granularity]) % {"measure": measure}


def _measure(data_test: DataTest) -> str:
    kind, _, rest = data_test.name.removesuffix(WHOLE).partition(":")
    text = STANDARD.get(kind.partition("@")[0], "") if data_test.origin == Origin.GENERATED else ""
    if data_test.category == Category.FRESHNESS:
        text = STANDARD["freshness"]
    if text and (rest or "%" not in text):
        here, _, other = rest.partition(">")
        return gettext(text) % {"of": rest, "here": here, "other": other}
    if data_test.revision is None:
        return data_test.name
    tree = from_json(data_test.revision.tree)
    if isinstance(tree, By):
        return gettext("Share of the groups by %(columns)s that hold") % {"columns": ", ".join(tree.columns)}
    nouns = dict.fromkeys(operand_titles(tree, data_test.name).values())
    return capfirst(next(iter(nouns))) if len(nouns) == 1 else data_test.name
