"""The page of all tables by importance: the heartbeat of each, and what to declare of it next."""

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assay import clock
from web.access.who import hidden_datasets
from web.rendering.charts import small_chart
from web.rendering.search import matching_datasets
from web.rendering.vital_signs import Missing, SignState, TableSigns, TableSort, ordered_tables, signs_of

from .page_policy import FilterForm, choice_field, page

PAGE_SIZE = 50
MOST_LETTERS = 200
STATE_WORDS = {
    SignState.LATE: _("late"),
    SignState.UNUSUAL: _("unusual"),
    SignState.USUAL: _("as usual"),
    SignState.LEARNING: _("learning"),
    SignState.OBSOLETE: _("obsolete"),
    SignState.UNREADABLE: _("cannot be read"),
}
MISSING_WORDS = {
    Missing.OWNER: _("an owner"),
    Missing.KEY: _("a primary key"),
    Missing.PARTITION: _("a partition column"),
    Missing.TESTS: _("tests"),
}


class TablesForm(FilterForm):
    """The filters of the page, and how it is sorted."""

    q = forms.CharField(required=False, max_length=MOST_LETTERS)
    signs = choice_field(str, ("unusual",))
    sort = choice_field(str, [sign + name for name in TableSort for sign in ("", "-")])


@page
def tables_page(request: HttpRequest) -> HttpResponse:
    """All tables that the reader may see, the most important first."""
    filters, now = TablesForm(request.GET).values(), clock.now()
    keys, importance = ordered_tables(
        matching_datasets(filters["q"] or ""),
        hidden=hidden_datasets(request),
        unusual=filters["signs"] == "unusual",
        sort=filters["sort"],
        now=now,
    )
    rows = Paginator(keys, PAGE_SIZE).get_page(filters["page"])
    tables = [_row_of(signs) for signs in signs_of(list(rows.object_list), importance, now)]
    context = {"here": "tables", "tables": tables, "rows": rows, "wanted": filters, "now": now}
    return render(request, "web/tables.html", context)


def _row_of(signs: TableSigns) -> dict[str, object]:
    volume = signs.heartbeat.volume if signs.heartbeat else {}
    usual = (volume["low"], volume["high"]) if volume.get("per") else (None, None)
    title = gettext("What the last 28 days brought")
    return {
        "signs": signs,
        "volume": volume,
        "word": STATE_WORDS[signs.state],
        "missing": [MISSING_WORDS[name] for name in signs.missing],
        "chart": small_chart(signs.loads, [False] * len(signs.loads), title=title, usual=usual),
    }
