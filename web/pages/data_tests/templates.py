"""The page of the templates: what each selects, how many tests it makes, and where it makes none."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from test_generator.models import Gap, RuleTemplate
from test_generator.templates.selectors import shown_templates
from web.access.who import hidden_datasets
from web.pages.page_policy import page

MOST_GAPS = 100


@page
def templates_page(request: HttpRequest) -> HttpResponse:
    """Every template, and the gaps of datasets that whoever asks may see."""
    found = Gap.objects.exclude(template="").filter(closed_at=None).exclude(dataset__in=hidden_datasets(request))
    gaps = found.select_related("dataset").order_by("template", "dataset__full_name")
    context = {
        "here": "templates",
        "shown": shown_templates(RuleTemplate.objects.order_by("name")),
        "gaps": gaps[:MOST_GAPS],
        "more": max(0, gaps.count() - MOST_GAPS),
    }
    return render(request, "web/templates.html", context)
