"""What a file of checks says, and what is said of one that cannot be used."""

from pathlib import Path

import pytest

from execution_engine.verification import Check, Level
from execution_engine.verification.checks_file import ChecksFile, UnableToReadChecks, read_checks

SHORT = [
    ("row_count: '> 0'", ["row_count() > 0"]),
    ("row_count: 5", ["row_count() = 5"]),
    ("quantile(fare, 0.5): between 1 and 9", ["quantile(fare, 0.5) between 1 and 9"]),
    ("completeness: {a: '>= 0.9', b: 1}", ["completeness(a) >= 0.9", "completeness(b) = 1"]),
]
RULES = [
    ("is_complete: [a, b]", Check().is_complete("a", "b")),
    ("is_unique: [a, b]", Check().is_unique("a", "b")),
    ("is_primary_key: id", Check().is_primary_key("id")),
    ("are_complete: [a, b]", Check().are_complete("a", "b")),
    ("is_positive: fare", Check().is_positive("fare")),
    ("is_non_negative: a b", Check().is_non_negative("a b")),
    ("is_less_than: [a, b]", Check().is_less_than("a", "b")),
    ("contains_email: [a, b]", Check().contains_email("a").contains_email("b")),
    ("is_contained_in: {status: [open, 3]}", Check().is_contained_in("status", ["open", 3])),
    ("is_in_range: {fare: [0, 99.5]}", Check().is_in_range("fare", [0, 99.5])),
    ("has_pattern: {city: ^ro}", Check().has_pattern("city", "^ro")),
    ("has_data_type: {code: integral}", Check().has_data_type("code", "integral")),
    ("satisfies: fare > 1", Check().satisfies("fare > 1")),
    ("satisfies_if: [fare > 1, tip > 0]", Check().satisfies_if("fare > 1", "tip > 0")),
]
WRONG = [
    ("checks:\n  - row_count() > 0\n  - is_uniqe: [id]\n", "checks.yaml:3: 'is_uniqe' is neither a metric nor a rule"),
    ("checks:\n  - is_unique: 7\n", "checks.yaml:2: found 7: write a column, or a list"),
    ("checks:\n  - is_contained_in: {status: []}\n", "the values of each column, such as {status: [open, closed]}"),
    ("checks:\n  - is_contained_in: {status: [open, null]}\n", "None is no text, number, truth or date"),
    ("checks:\n  - is_less_than: [a, b, c]\n", "found 3: is_less_than takes 2"),
    ("checks:\n  - has_pattern: {city: 7}\n", "write a text behind each column, such as {code: integral}"),
    ("checks:\n  - has_data_type: {code: number}\n", "'number' is no type of values: take one of integral,"),
    ("checks:\n  - row_count: yes\n", "checks.yaml:2: found True: write a number, or a comparison"),
    ("checks:\n  - assertion: row_count() > 0\n    level: fatal\n", "checks.yaml:3: found 'fatal': write error or"),
    ("checks:\n  - assertion: row_count() > 0\n    lvel: error\n", "checks.yaml:3: found the unknown key 'lvel': did"),
    ("checks:\n  - mean(fare, last=7) > 1\n", "checks.yaml:2: Cannot read the assertion: last= needs one metric call"),
    ("checks:\n  - row_count(ago=7d) > 1\n", "this table has no partitions: there is no ago"),
    ("checks:\n  - row_count() > lag(row_count(), 1) by city\n", "a metrics repository keeps no values of groups"),
    ("checks:\n  - mean(min(fare), last=0) > 1\n", "last= is from 1 to 1000, not 0"),
    ("checks:\n  - freshness() < 4h\n", "freshness needs the catalog: test it there"),
    ("checks:\n  - row_count(dataset='riders') > 1\n", "there is no dataset 'riders'"),
    ("checks:\n  - {assertion: row_count() > 1, for_each_column: [a]}\n", "the assertion must say {column} where"),
    ("checks: []\n", "checks.yaml:1: write `checks:` and below it a list"),
    ("check:\n  - row_count() > 0\n", "checks.yaml:1: write `checks:`"),
    ("checks: [a\n", "checks.yaml:2: no YAML"),
]


def read(folder: Path, text: str) -> ChecksFile:
    path = folder / "checks.yaml"
    path.write_text(text)
    return read_checks(path)


@pytest.mark.parametrize(("short", "assertions"), SHORT)
def test_the_short_form_stands_for_assertions(short: str, assertions: list[str], tmp_path: Path) -> None:
    found = read(tmp_path, f"checks:\n  - {short}\n")
    assert [each.text for each in found.checks[0].constraints] == assertions
    assert found.lines == (2,) * len(assertions)


@pytest.mark.parametrize(("short", "check"), RULES)
def test_a_rule_of_the_short_form_is_the_method_of_that_name(short: str, check: Check, tmp_path: Path) -> None:
    found = read(tmp_path, f"checks:\n  - {short}\n")
    said = [(each.text, each.asks) for each in found.checks[0].constraints]
    assert said == [(each.text, each.asks) for each in check.constraints]
    assert found.lines == (2,) * len(check.constraints)


def test_a_rule_has_its_name_hint_and_filter(tmp_path: Path) -> None:
    text = "checks:\n  - {is_complete: [a, b], name: full, hint: ask, where: c > 0, level: warning}\n"
    (check,) = read(tmp_path, text).checks
    assert [(each.text, each.hint) for each in check.constraints] == [
        ("full: is_complete(a)", "ask"),
        ("full: is_complete(b)", "ask"),
    ]
    assert [ask.spec.where for each in check.constraints for ask in each.asks] == ["c > 0", "c > 0"]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_told_with_its_line_and_how_to_mend_it(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnableToReadChecks) as raised:
        read(tmp_path, text)
    assert message in str(raised.value)


def test_one_entry_speaks_of_many_columns_at_one_level_under_one_filter(tmp_path: Path) -> None:
    entry = "{assertion: 'completeness({column}) = 1', for_each_column: [a, b], level: warning, where: c > 0}"
    (check,) = read(tmp_path, f"checks:\n  - {entry}\n").checks
    assert check.level is Level.WARNING
    specs = [ask.spec.text for each in check.constraints for ask in each.asks]
    assert specs == ["completeness(a, where='c > 0')", "completeness(b, where='c > 0')"]


def test_other_tables_are_found_from_the_folder_of_the_file(tmp_path: Path) -> None:
    text = "tables: {riders: lake/riders, known: db_table, far: s3://lake/x}\nchecks: [row_count() > 0]\n"
    assert read(tmp_path, text).tables == {
        "riders": str(tmp_path / "lake/riders"),
        "known": "db_table",
        "far": "s3://lake/x",
    }


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UnableToReadChecks, match="cannot be read: No such file"):
        read_checks(tmp_path / "none.yaml")


def test_the_file_in_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "verification.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]
    found = read(tmp_path, example)
    assert len(found.checks) == 10
    assert {check.level for check in found.checks} == {Level.ERROR, Level.WARNING}


def test_the_documentation_names_every_constraint() -> None:
    page = (Path(__file__).parents[4] / "docs" / "verification.md").read_text()
    methods = {name for name in dir(Check) if name.startswith(("is_", "has_", "are_", "have_", "contains_", "sat"))}
    assert {name for name in methods if name not in page} == set()
