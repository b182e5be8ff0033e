"""The search that each page has in its head, and its page of results."""

from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from web.access.who import hidden_datasets
from web.rendering.search import KIND_WORDS, LONGEST, search

from .page_policy import page

MOST_IN_BOX, MOST_ON_PAGE = 6, 50  # hits of each kind


@page
def search_page(request: HttpRequest) -> HttpResponse:
    """What a text finds; of a request of the box only the hits."""
    text, is_part = request.GET.get("q", "")[:LONGEST].strip(), "HX-Request" in request.headers
    most = MOST_IN_BOX if is_part else MOST_ON_PAGE
    hits = search(text, hidden=hidden_datasets(request), most=most)
    groups = [(kind, KIND_WORDS[kind], list(own)) for kind, own in groupby(hits, key=lambda hit: hit.kind)]
    context = {"text": text, "hits": hits, "groups": groups, "most": most, "is_part": is_part}
    return render(request, "web/_hits.html" if is_part else "web/search.html", context)
