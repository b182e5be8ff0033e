"""Templates and tags in a catalog file: what they mean, and what is said of wrong ones."""

from datetime import timedelta
from pathlib import Path
from textwrap import indent

import pytest

from assay.catalog.profile import ColumnSelector, Selector, TemplateProfile, filled, placeholders
from assay.catalog.yaml.provider import load
from test_generator.pushed_rules import as_written, library, read_template
from test_generator.templates.services import fault_of
from tests.unit.assay.test_yaml_catalog import problems, trips, write

KNOWN = """
name: ids are known
assertion: completeness({column}) >= {share}
parameters: {share: 0.99}
selector: {tags: [pii], columns: {names: ['*_id']}}
"""


def catalog(**changes: str) -> str:
    """A catalog of raw.trips and one template, with keys of this put in place, added, or (empty) left out."""
    lines = dict(line.split(": ", 1) for line in KNOWN.strip().splitlines()) | changes
    body = "\n".join(f"{key}: {value}" for key, value in lines.items() if value)
    return f"{trips(tags='[pii, eu.west]')}\ntemplates:\n- {indent(body, '  ').strip()}\n"


def test_a_template_has_what_its_file_says(tmp_path: Path) -> None:
    text = catalog(
        overrides="{raw.trips: {share: '0.5'}}",
        severity="soft",
        schedule="weekly",
        sustain="0m",
        catch_up="none",
        category="column",
        selector="{tiers: [0, 1], names: [raw.*], except: ['*.tmp'], columns: {kinds: [text]}}",
    )
    told = load(write(tmp_path, text))
    assert told.datasets[0].tags == ("pii", "eu.west")
    (template,) = told.templates
    assert template == TemplateProfile(
        name="ids are known",
        assertion="completeness({column}) >= {share}",
        selector=Selector(tiers=(0, 1), names=("raw.*",), excluded=("*.tmp",), columns=ColumnSelector(kinds=("text",))),
        parameters={"share": "0.99"},
        overrides={"raw.trips": {"share": "0.5"}},
        severity="soft",
        schedule="weekly",
        sustain=timedelta(0),
        catch_up="none",
        category="column",
    )
    assert template.place.endswith("catalog.yaml:11")


def test_what_a_template_leaves_out_is_each_datasets(tmp_path: Path) -> None:
    (template,) = load(write(tmp_path, catalog())).templates
    open_ = (template.severity, template.schedule, template.sustain, template.catch_up)
    assert (open_, template.category, template.overrides) == ((None,) * 4, "custom", {})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"assertion": "row_count() > {least}", "selector": "{tiers: [1]}"}, "found '{least}', a parameter that"),
        ({"assertion": "completeness({column}) >= 1"}, "found 'share', and the assertion has no {share}: use it, or"),
        ({"parameters": "{share: 1, column: x}"}, "found 'column', which stands for each selected column: take"),
        ({"parameters": "{Share: 1}"}, "templates[0].parameters.Share"),
        ({"parameters": "{share: yes}"}, "templates[0].parameters.share: found True: write text"),
        ({"selector": "{tags: [pii]}"}, "found {column}, and the selector selects no columns: add columns"),
        (
            {"selector": "{}"},
            "templates[0].selector: found {}: write tiers, tags, names, owners or columns",
        ),
        ({"selector": ""}, "templates[0].selector: is missing: add selector"),
        ({"selector": "{tag: [pii]}"}, "templates[0].selector.tag: found the unknown key 'tag': did you mean 'tags'?"),
        ({"selector": "{tiers: [9]}"}, "templates[0].selector.tiers[0]: found 9: input should be less than or"),
        ({"selector": "{columns: {kinds: [number]}}"}, "templates[0].selector.columns.kinds[0]: found 'number'"),
        ({"selector": "{tags: [pii, pii]}"}, "pii is named more than once: keep one"),
        ({"overrides": "{raw.trip: {share: 1}}"}, "found 'raw.trip', a dataset that datasets does not name: did you"),
        ({"overrides": "{raw.trips: {shar: 1}}"}, "found 'shar', a parameter that parameters does not name: did you"),
        ({"schedule": "soon"}, "write 'partition', 'weekly', or a cron line of five fields"),
        (
            {"assertion": "row_count() > {share}"},
            "found columns, and the assertion has no {column}: write it where the name of a column belongs.",
        ),
    ],
)
def test_a_wrong_template_is_told_with_how_to_mend_it(tmp_path: Path, changes: dict[str, str], sentence: str) -> None:
    assert sentence in problems(tmp_path, catalog(**changes))


def test_a_second_template_of_a_name_is_refused_without_regard_to_case(tmp_path: Path) -> None:
    second = indent(KNOWN.strip().replace("ids", "IDs"), "  ").strip()
    said = problems(tmp_path, f"{catalog()}- {second}\n")
    assert "templates[1].name: found a second template 'IDs are known', first at" in said


@pytest.mark.parametrize("tags", ["[PII]", "pii", "[pii, pii]", "['a b']"])
def test_a_wrong_tag_is_refused(tmp_path: Path, tags: str) -> None:
    assert "datasets[0].tags" in problems(tmp_path, trips(tags=tags))


def test_only_names_between_braces_are_placeholders() -> None:
    text = r"rows('{column} rlike [0-9]{3}\p{lu}{,2}') < {most} and {most} > {window.start:date} {9a} {A}"
    assert placeholders(text) == ("column", "most")
    assert filled("{a} {b} {a}", {"a": "{b}"}) == "{b} {b} {b}"


def test_the_ready_templates_are_right_in_themselves() -> None:
    ready = library().values()
    assert all(template.needs and template.example for template in ready)
    assert [fault for template in ready if (fault := fault_of(template))] == []
    assert [read_template(as_written(template)) for template in ready] == list(ready)
