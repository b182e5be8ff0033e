"""A catalog of several files: what they say together, and where a mistake in one of them is told."""

from pathlib import Path

import pytest

from assay.catalog.yaml.provider import UnableToReadCatalog, load, read, source_fault

REPLICAS = "replicas: [{datacenter: sea, storage: table, location: t}]"


def dataset(name: str, **more: str) -> str:
    """A file's text of one dataset, on line 2."""
    told = {"owner": "ann", "tier": "1", **more}
    keys = ", ".join(f"{key}: {value}" for key, value in told.items())
    return f"datasets:\n  - {{name: {name}, {keys}, {REPLICAS}}}\n"


def folder(root: Path, **files: str) -> Path:
    """A folder of these files; two underscores in a name are a slash."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def said(path: Path) -> list[str]:
    """What is wrong with a catalog, by paths below the folder."""
    with pytest.raises(UnableToReadCatalog) as refused:
        load(path)
    assert len(refused.value.problems) == len(str(refused.value).splitlines())
    return [line.removeprefix(f"{path}/") for line in str(refused.value).splitlines()]


def test_the_files_of_a_folder_are_one_catalog_in_the_order_of_their_paths(tmp_path: Path) -> None:
    folder(tmp_path, b=dataset("raw.b"), a__z=dataset("raw.z"), c=dataset("raw.c"))
    (tmp_path / "d.yml").write_text(dataset("raw.d"))
    catalog = load(tmp_path)
    assert [each.full_name for each in catalog.datasets] == ["raw.z", "raw.b", "raw.c", "raw.d"]
    assert [each.place for each in catalog.datasets] == [
        *(f"{tmp_path}/a/z.yaml:2", f"{tmp_path}/b.yaml:2", f"{tmp_path}/c.yaml:2", f"{tmp_path}/d.yml:2")
    ]


def test_what_is_hidden_or_no_yaml_is_no_part_of_a_folder(tmp_path: Path) -> None:
    folder(tmp_path / ".home", a=dataset("raw.a"), **{".git__b": "{", ".c": "{", "x__.d__e": "{"})
    (tmp_path / ".home" / "notes.txt").write_text("{")
    (tmp_path / ".home" / "dir.yaml").mkdir()
    assert [each.full_name for each in load(tmp_path / ".home").datasets] == ["raw.a"]


def test_a_folder_without_a_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(UnableToReadCatalog) as refused:
        load(tmp_path)
    assert str(refused.value) == (f"{tmp_path}:1: is a folder without a *.yaml file: name the folder of the catalog.")


def test_relative_locations_are_taken_from_the_file_that_names_them(tmp_path: Path) -> None:
    one = dataset("raw.a").replace("storage: table, location: t", "storage: orc, location: lake/t")
    folder(tmp_path, a=one, b__c=one.replace("raw.a", "raw.b"))
    assert [each.replicas[0].location for each in load(tmp_path).datasets] == [
        *(f"{tmp_path}/lake/t", f"{tmp_path}/b/lake/t")
    ]


def test_a_mistake_is_told_by_its_own_file_and_its_number_in_it(tmp_path: Path) -> None:
    edges = "lineage:\n  - {upstream: raw.a, downstream: raw.b}\n  - {upstream: raw.x, downstream: raw.b}\n"
    folder(
        tmp_path,
        a=dataset("raw.a") + "  - {name: raw.e, owner: ann}\n" + "lineage: [{upstream: raw.a, downstream: raw.b}]\n",
        b=dataset("raw.b", tier="7") + edges.replace("raw.a", "raw.e"),
    )
    assert said(tmp_path) == [
        "a.yaml:3: datasets[1].tier: is missing: add tier: …",
        "a.yaml:3: datasets[1].replicas: is missing: add replicas: …",
        "b.yaml:2: datasets[0].tier: found 7: input should be less than or equal to 5.",
        "b.yaml:5: lineage[1].upstream: found 'raw.x', a dataset that datasets does not name: did you mean 'raw.e'?",
    ]


def test_a_name_in_two_files_is_told_in_the_second_with_the_first(tmp_path: Path) -> None:
    folder(tmp_path, a=dataset("raw.a"), b=dataset("raw.b") + dataset("raw.A").partition("\n")[2])
    (line,) = said(tmp_path)
    assert line.startswith("b.yaml:3: datasets[1].name: found 'raw.A' beside 'raw.a', and names are one without ")
    assert line.endswith(f"first at {tmp_path}/a.yaml:2: keep one of the two.")


def test_files_that_are_no_yaml_or_no_text_are_told_and_the_others_are_read_all_the_same(tmp_path: Path) -> None:
    folder(tmp_path, a="datasets:\n  - [", c=dataset("raw.c", tier="9"))
    (tmp_path / "b.yaml").write_bytes(b"datasets: \xff")
    (tmp_path / "d.yaml").symlink_to(tmp_path / "nowhere.yaml")
    broken, *others = said(tmp_path)
    assert broken.startswith("a.yaml:2: no YAML, from column 6: ")
    assert broken.endswith(". Check quotes and indentation.")
    assert others == [
        "b.yaml:1: is no UTF-8 text at byte 10: save it as UTF-8.",
        "c.yaml:2: datasets[0].tier: found 9: input should be less than or equal to 5.",
    ]


def test_a_file_that_is_not_there_is_told_with_what_to_check(tmp_path: Path) -> None:
    with pytest.raises(UnableToReadCatalog) as refused:
        load(tmp_path / "a.yaml")
    assert str(refused.value) == (
        f"{tmp_path}/a.yaml:1: cannot be read: No such file or directory. Check the path and its permissions."
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "[1, 2]",
            [
                "a.yaml:1: found [1, 2]: write a mapping with the keys datasets, lineage, tests, templates, bindings, "
                "business_metrics."
            ],
        ),
        (
            "dataset: []\n7: x\n",
            [
                "a.yaml:1: dataset: found the unknown key 'dataset': did you mean 'datasets'? "
                "Known here: datasets, lineage, tests, templates, bindings, business_metrics, source.",
                "a.yaml:2: 7: found the unknown key '7': "
                "Known here: datasets, lineage, tests, templates, bindings, business_metrics, source.",
            ],
        ),
        (
            "lineage:\ndatasets: {a: 1}\n",
            ["a.yaml:2: datasets: found {'a': 1}: write a list, one item a line after a dash."],
        ),
        ("lineage: [5]", ["a.yaml:1: lineage[0]: found 5: write a mapping of key: value."]),
        (
            dataset("raw.a", slas="{freshness: 1h, complete: 1}"),
            [
                "a.yaml:2: datasets[0].slas.complete: found the unknown key 'complete': did you mean 'completeness'? "
                "Known here: freshness, completeness, duplicates, consistency, unpartitioned."
            ],
        ),
        (
            dataset("raw.a").replace("location: t", "location: t, options: {}, place: x"),
            [
                "a.yaml:2: datasets[0].replicas[0].place: found the unknown key 'place': "
                "Known here: datacenter, storage, location, options."
            ],
        ),
        (
            dataset("raw.a", primary_key="5", description="[x]", columns="[id]"),
            [
                "a.yaml:2: datasets[0].description: found ['x']: "
                "write text, in quotes if it looks like a number or yes/no.",
                "a.yaml:2: datasets[0].columns: found ['id']: write a mapping of key: value.",
                "a.yaml:2: datasets[0].primary_key: found 5: write a list, one item a line after a dash.",
            ],
        ),
        (
            dataset("raw.a", slas="{completeness: all, duplicates: '1 %'}"),
            [
                "a.yaml:2: datasets[0].slas.completeness: found 'all': "
                "write a number such as 0.999, or a share such as 99.9 %."
            ],
        ),
        (
            dataset("raw.a", slas="7", allow_empty="1"),
            [
                "a.yaml:2: datasets[0].slas: found 7: write a mapping of key: value.",
                "a.yaml:2: datasets[0].allow_empty: found 1: write true or false.",
            ],
        ),
        (
            dataset("raw.a", sustain="4 h"),
            [
                "a.yaml:2: datasets[0].sustain: found '4 h': "
                "'4 h' is no length of time: write a number and s, m, h, d or w, such as 4h."
            ],
        ),
    ],
)
def test_what_is_written_wrongly_is_told_with_what_may_be_written(tmp_path: Path, text: str, lines: list[str]) -> None:
    assert said(folder(tmp_path, a=text)) == lines


def test_the_files_name_their_source(tmp_path: Path) -> None:
    folder(tmp_path, a="source: shop\n", b=dataset("raw.b"), c="source: shop\n")
    asked: list[str] = []

    def elsewhere(source: str) -> dict[str, bool]:
        asked.append(source)
        return {"app.orders": True}

    reading = read(tmp_path, elsewhere)
    assert (reading.source, asked, reading.problems) == ("shop", ["shop"], ())
    assert [each.full_name for each in reading.catalog.datasets] == ["raw.b"]


def test_files_that_name_no_source_have_none(tmp_path: Path) -> None:
    reading = read(folder(tmp_path, a=dataset("raw.a")))
    assert (reading.source, reading.problems) == ("", ())


def test_what_is_elsewhere_may_be_named_here(tmp_path: Path) -> None:
    text = dataset("raw.a") + "lineage: [{upstream: app.orders, downstream: raw.a}]\n"
    folder(tmp_path, a=text)
    assert read(tmp_path, lambda source: {"app.orders": False}).problems == ()
    ((path, problem),) = read(tmp_path).problems
    assert (path, problem.line, problem.path) == (tmp_path / "a.yaml", 3, "lineage[0].upstream")


def test_two_sources_are_one_too_many(tmp_path: Path) -> None:
    folder(tmp_path, a="source: shop\n", b=f"{dataset('raw.b')}source: rides\n", c="source: 7\n")
    assert said(tmp_path) == [
        f"b.yaml:3: source: found 'rides', and {tmp_path}/a.yaml says 'shop': keep one.",
        "c.yaml:1: source: found 7: write letters, digits, '-', '_' and '.', at most 100.",
    ]


@pytest.mark.parametrize("name", ["shop", "Shop_1.x-y", "7", "a" * 100])
def test_a_source_has_a_short_plain_name(name: str) -> None:
    assert source_fault(name) is None


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a" * 101, "für", None, 7, ["shop"], "shop\n"])
def test_any_other_name_of_a_source_is_refused(name: object) -> None:
    assert source_fault(name) == "write letters, digits, '-', '_' and '.', at most 100"


@pytest.mark.parametrize("name", ["push", "openlineage"])
def test_what_comes_without_a_file_lends_no_source_its_name(name: str) -> None:
    assert source_fault(name) == f"{name!r} is what comes without a file: take another name"


def test_a_test_tells_where_its_assertion_stands(tmp_path: Path) -> None:
    text = (
        dataset("raw.a")
        + "tests:\n  - dataset: raw.a\n    name: rows\n    schedule: weekly\n    assertion: row_count() > 0\n"
    )
    (test,) = load(folder(tmp_path, a=dataset("raw.z"), b=text)).custom
    assert test.place == f"{tmp_path}/b.yaml:7"


def test_names_of_wrong_datasets_are_known_all_the_same(tmp_path: Path) -> None:
    text = (
        "datasets: [{name: raw.a}, raw.b, {owner: ann}, {name: [1]}]\nlineage: [{upstream: raw.a, downstream: raw.c}]\n"
    )
    lines = said(folder(tmp_path, a=text, c=dataset("raw.c")))
    assert not [line for line in lines if "lineage" in line]


def test_mistakes_are_told_by_file_and_line(tmp_path: Path) -> None:
    folder(tmp_path, b=dataset("raw.b", tier="8"), a=f"{dataset('raw.a', tier='9')}x: 1\ny: 2\n")
    assert [line.split(": ")[0] for line in said(tmp_path)] == ["a.yaml:2", "a.yaml:3", "a.yaml:4", "b.yaml:2"]


def test_an_unknown_key_of_a_column_is_told_with_those_that_it_may_have(tmp_path: Path) -> None:
    lines = said(folder(tmp_path, a=dataset("raw.a", columns="{id: {type: int, sensitiv: true}}")))
    assert lines[-1].endswith(
        "found the unknown key 'sensitiv': did you mean 'sensitive'? Known here: type, sensitive."
    )
