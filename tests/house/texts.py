"""The texts of the pages, gathered for translation: ``python -m tests.house.texts`` brings each language up to date.

They stand in templates, in Python and in the tables of the core whose words pages show. Django's own command needs the
programs of GNU gettext, which not every machine has; Babel does the same in Python.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.forms import Form
from django.utils.module_loading import import_string
from django.utils.translation.template import templatize

from tests.house.figures import ROOT

WEB = ROOT / "web"
LANGUAGES = {"de": WEB / "locale" / "de" / "LC_MESSAGES" / "django.po"}
WIDTH = 120  # of a line
CALLS: Mapping[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "text_noop": None,
}
# a call in what Django makes of a template: literals alone, or literals and the name of a count
IN_TEMPLATE = re.compile(r"""\b(gettext|ngettext|pgettext|_)\(((?:u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*"|[\s,])+)""")
WORDS_OF_THE_CORE = (  # enumerations of which pages show every value
    "assay.models.Category",
    "assay.models.Origin",
    "assay.models.Severity",
    "assay.time.windows.Granularity",
    "alerting.notices.policy.Event",
    "alerting.notices.policy.Hush",
    "execution_engine.metrics.definition.Dimension",
    "execution_engine.models.RunReason",
    "execution_engine.outcome.Outcome",
    "execution_engine.outcome.Reason",
    "incident_manager.gate.rules.GateDecision",
    "incident_manager.models.EntryKind",
    "incident_manager.models.ReportState",
    "incident_manager.models.Resolution",
    "incident_manager.models.Saw",
    "incident_manager.quality.rules.QualityStatus",
    "incident_manager.scores.metric_reporter.Counted",
    "incident_manager.scores.metric_reporter.Group",
    "incident_manager.scores.response_times.Step",
    "web.pages.incident.IncidentState",
)
WITH_TEXTS = (  # modules of the core whose sentences pages show in the reader's language
    ROOT / "alerting" / "titles.py",
    ROOT / "execution_engine" / "metrics" / "definition.py",
    *(ROOT / "execution_engine" / "metrics" / "definitions").glob("*.py"),
)
FORMS = (  # whose fields a refusal names
    "web.pages.suggestions.BacktestForm",
    "web.pages.editor.EditorForm",
    "web.pages.incident.AnnotateForm",
    "web.pages.incident.ForceForm",
    "web.pages.admin.MemberForm",
    "web.pages.notices.SilenceForm",
    "web.pages.onboarding.OnboardingForm",
    "web.pages.people.TokenForm",
    "web.pages.dataset.OverrideForm",
    "web.pages.reports.JoinForm",
    "web.pages.reports.ProblemForm",
)

Text = str | tuple[str, str]  # with its plural


def texts() -> Catalog:
    """Every text that a page shows, in English, with the files that show it."""
    found = Catalog(project="Assay", charset="utf-8")
    found_texts = chain(_of_templates(), _of_python(), ((place, word, None) for place, word in _of_the_core()))
    for place, text, context in sorted(found_texts, key=lambda each: (each[0], str(each[1]))):
        found.add(text, locations=[(place, 0)], context=context)
    return found


def _of_templates() -> Iterator[tuple[str, Text, str | None]]:
    for path in sorted((WEB / "templates").rglob("*.html")):
        for call, literals in IN_TEMPLATE.findall(templatize(path.read_text())):
            given = ast.literal_eval(f"({literals.strip().rstrip(',')},)")
            yield _place(path), *_read(call, [str(each) for each in given])


def _read(call: str, given: list[str]) -> tuple[Text, str | None]:
    match call:
        case "ngettext":
            return (given[0], given[1]), None
        case "pgettext":
            return given[1], given[0]
        case _:
            return given[0], None


def _of_python() -> Iterator[tuple[str, Text, str | None]]:
    for path in sorted((*WEB.rglob("*.py"), *WITH_TEXTS)):
        for _, text, _, context in extract("python", BytesIO(path.read_bytes()), keywords=CALLS):
            yield _place(path), text if isinstance(text, str) else (text[0], text[1]), context


def _of_the_core() -> Iterator[tuple[str, str]]:
    for name in WORDS_OF_THE_CORE:
        yield from ((name, each.value) for each in import_string(name) if each.value)
    for name in FORMS:
        form: type[Form] = import_string(name)
        yield from ((name, field.replace("_", " ")) for field in form.base_fields)
    statistics = "execution_engine.novelty.statistics.STATISTICS"
    yield from ((statistics, each.words) for each in import_string(statistics).values())


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def translated(language: str) -> Catalog:
    """A language as its file has it."""
    with LANGUAGES[language].open("rb") as file:
        return read_po(file, locale=language)


def updated(catalog: Catalog) -> bytes:
    """The file of a language with the texts of today: new ones are empty, old ones are gone."""
    catalog.update(texts(), no_fuzzy_matching=True, update_header_comment=False, update_creation_date=False)
    catalog.obsolete.clear()
    written = BytesIO()
    write_po(written, catalog, width=WIDTH, include_lineno=False, sort_output=True)
    return written.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """What Django reads of it."""
    written = BytesIO()
    write_mo(written, catalog)
    return written.getvalue()


def untranslated(catalog: Catalog) -> Iterable[str]:
    """The texts that have no translation yet."""
    for message in catalog:
        strings = message.string if isinstance(message.string, (list, tuple)) else [message.string]
        if message.id and not all(strings):
            yield str(message.id)


if __name__ == "__main__":
    import django

    django.setup()
    for language, path in LANGUAGES.items():
        path.write_bytes(updated(translated(language)))
        path.with_suffix(".mo").write_bytes(compiled(translated(language)))
        missing = list(untranslated(translated(language)))
        print(f"{path.relative_to(ROOT)}: {len(missing)} texts have no translation yet")
        print("".join(f"  {text}\n" for text in missing), end="")
