"""Each language has every text of the pages, whole and with its parts, and Django reads just that."""

import re
from collections.abc import Iterator

import pytest
from babel.messages.catalog import Message
from django.utils.translation import gettext, override

from tests.house.texts import LANGUAGES, compiled, texts, translated, untranslated, updated

PART = re.compile(r"%\(\w+\)s|<[^>]+>|…")
languages = pytest.mark.parametrize("language", LANGUAGES)


def pairs(language: str) -> Iterator[tuple[str, str]]:
    """Each English text with its translation, of plurals each form."""
    message: Message
    for message in translated(language):
        if not message.id:
            continue
        if isinstance(message.id, tuple) and isinstance(message.string, tuple):
            yield from zip(message.id, message.string, strict=True)
        else:
            yield str(message.id), str(message.string)


def parts(text: str) -> list[str]:
    return sorted(PART.findall(text))


@languages
def test_the_file_has_exactly_the_texts_that_pages_show(language: str) -> None:
    path = LANGUAGES[language]
    assert path.read_bytes() == updated(translated(language)), "run `make texts`, and translate what is empty then"


@languages
def test_every_text_is_translated(language: str) -> None:
    assert list(untranslated(translated(language))) == []
    assert not any(message.fuzzy for message in translated(language) if message.id)


@languages
def test_a_translation_has_the_parts_of_the_text(language: str) -> None:
    wrong = [(english, own) for english, own in pairs(language) if parts(english) != parts(own)]
    assert wrong == []


@languages
def test_a_translation_ends_as_the_text_does(language: str) -> None:
    ends = [(english, own) for english, own in pairs(language) if english[-1:] in ".:?,…" and own[-1:] != english[-1:]]
    assert ends == []


@languages
def test_django_reads_what_the_file_says(language: str) -> None:
    assert LANGUAGES[language].with_suffix(".mo").read_bytes() == compiled(translated(language)), "run `make texts`"


@languages
def test_no_text_of_django_stands_in_place_of_ours(language: str) -> None:
    with override(language):
        wrong = [
            (str(message.id), spoken)
            for message in translated(language)
            if message.id and isinstance(message.id, str) and not message.context
            if (spoken := gettext(message.id)) != message.string
        ]
    assert wrong == []


def test_texts_are_found_in_templates_in_python_and_in_the_core() -> None:
    found = texts()
    for text in ("Skip to the content", "Under way", "freshness", "share of zeros", "%(count)s open"):
        assert found.get(text) is not None, text
    plural = found.get(("%(count)s more window is bad.", "%(count)s more windows are bad."))
    assert plural is not None
    assert found.get("of", context="columns") is not None
