"""The drawing of a lineage, as far as the address of a page unfolds it."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.http import HttpRequest

from web.rendering.lineage import HOPS, LARGEST, Graph
from web.rendering.lineage_layout import lay_out

from .page_policy import choice_field

DEPTHS = range(1, HOPS + 1)
HEIGHT = 76  # of a box, as the style sheet has it
NOTED_HEIGHT = 104  # with what is noted of each


class LineageForm(forms.Form):
    """How far to draw, and which column has how many boxes; what cannot be read is as it is at first."""

    depth = choice_field(int, DEPTHS)
    unfold = forms.IntegerField(required=False)
    most = forms.IntegerField(required=False, min_value=1, max_value=LARGEST)


def drawing_of(
    request: HttpRequest, graph: Graph, *, depth: int, chain: Collection[int] = (), is_noted: bool = False
) -> dict[str, Any]:
    """The ``drawing``, how far it goes, and how far it can."""
    form = LineageForm(request.GET)
    form.is_valid()
    fields = form.cleaned_data
    depth = fields.get("depth") or depth
    drawing = lay_out(
        graph,
        depth=depth,
        unfolded=fields.get("unfold"),
        most=fields.get("most") or 0,
        chain=chain,
        height=NOTED_HEIGHT if is_noted else HEIGHT,
    )
    return {"drawing": drawing, "here": graph.here, "depth": depth, "depths": DEPTHS, "unfolded": fields.get("unfold")}
