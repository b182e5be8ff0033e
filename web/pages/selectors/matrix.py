"""The status of datasets, and of each of their categories."""

from collections.abc import Mapping

from assay.models import Category
from incident_manager.quality.facts import Facts
from incident_manager.quality.now import of_category
from incident_manager.quality.rules import Answer, AskedRange, judge
from test_generator.models import Gap
from web.shown.status import Cell, look_of

Matrix = dict[tuple[int, str], Cell]


def matrix(known: Mapping[int, Facts]) -> Matrix:
    """The cell of each (dataset, category) that has a live test, a report or a known gap, in one statement more."""
    gaps = Gap.objects.filter(dataset__in=list(known), closed_at=None).values_list("dataset_id", "category", "reason")
    cells: Matrix = {(dataset, category): Cell(reason=reason) for dataset, category, reason in gaps}
    for dataset, facts in known.items():
        for category in Category.values:
            own = of_category(facts, category)
            if own.tests or own.spoilt or own.claims:
                cells[dataset, category] = _cell(judge(own, AskedRange()))
    return cells


def _cell(answer: Answer) -> Cell:
    weighing = [reason for reason in answer.reasons if reason.status is answer.status]
    return Cell(
        status=look_of(answer),
        windows=max((reason.count for reason in weighing), default=0),
        reason=weighing[0].text if weighing else "",
    )
