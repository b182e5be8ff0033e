"""The page of coverage: what is tested, and who would hear of it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from alerting.coverage import coverage_by_tier
from assay import clock

from .page_policy import page


@page
def coverage_page(request: HttpRequest) -> HttpResponse:
    """Tests and reachable owners by tier, and what is missing."""
    return render(request, "web/coverage.html", {"here": "coverage", "tiers": coverage_by_tier(now=clock.now())})
