"""What an HTML page must be: read without a mistake, and leading somewhere."""

from collections.abc import Iterator
from dataclasses import dataclass

import html5lib

LINKS = (("a", "href"), ("link", "href"), ("script", "src"), ("img", "src"), ("use", "href"))


@dataclass(frozen=True, kw_only=True)
class Form:
    """Where a form is sent, and how."""

    action: str
    method: str


@dataclass(frozen=True, kw_only=True)
class Read:
    """What was read of a page."""

    mistakes: tuple[str, ...]
    links: tuple[str, ...]
    forms: tuple[Form, ...]
    ids: frozenset[str]


def read_page(text: str) -> Read:
    """The page, with each place where the standard's parser stumbled and went on."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(text)
    mistakes = [f"line {place[0]}: {code} {data}" for place, code, data in parser.errors]
    ids = [node.get("id") for node in tree.iter() if node.get("id")]
    mistakes += [f"the id {name!r} is there twice" for name in {name for name in ids if ids.count(name) > 1}]
    forms = tuple(
        Form(action=node.get("action") or "", method=(node.get("method") or "get").lower())
        for node in tree.iter("form")
    )
    return Read(mistakes=tuple(mistakes), links=tuple(_links(tree)), forms=forms, ids=frozenset(ids))


def _links(tree: object) -> Iterator[str]:
    """Those that a robot is to follow: a page whose links make ever new questions marks them as such."""
    for node in tree.iter():  # type: ignore[attr-defined]
        tag = str(node.tag).rpartition("}")[2]
        for name, attribute in LINKS:
            if tag == name and node.get("rel") != "nofollow" and (target := node.get(attribute)):
                yield target
