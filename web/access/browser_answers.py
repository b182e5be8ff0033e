"""What every answer is before it leaves: kept by no cache but its own, and without marks that turn text around."""

import re
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase

UNCACHED = "private, no-store"  # pages and answers show what only some may see
# marks that reverse or nest what follows them (U+202A to U+202E, U+2066 to U+2069), plain or as JSON in a script
TURNING = re.compile(rb"\xe2(?:\x80[\xaa-\xae]|\x81[\xa6-\xa9])|\\u(?:202[a-eA-E]|206[6-9])")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


class BrowserAnswers:
    """Forbids caches to keep what says nothing of them, and shows marks that turn text around on pages as ``�``.

    A name with such a mark reads on a page as another name; the API gives it as it is.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, made safe."""
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", UNCACHED)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and isinstance(response, HttpResponse) and TURNING.search(response.content):
            response.content = TURNING.sub(REPLACEMENT, response.content)
        return response
