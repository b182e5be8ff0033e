"""The rules of this house that no linter knows."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps

from assay.queue.flow import STAGES
from tests.house.rooms import PAGE, page, rooms, said

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAYERS: list[str] = PYPROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
SOURCE_FOLDERS = ["platform/assay", *(layer for layer in LAYERS if layer != "assay"), "benchmarks", "examples"]
PRODUCT = sorted(
    path
    for folder in SOURCE_FOLDERS[: len(LAYERS)]
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
SOURCES = sorted(path for folder in SOURCE_FOLDERS for path in (ROOT / folder).rglob("*.py"))


@dataclass(frozen=True, kw_only=True)
class Breaches:
    """What a file has that the house does not want; the file is read and walked once for all rules."""

    named_like_tests: tuple[str, ...]
    imported_otherwise: tuple[str, ...]
    long_functions: tuple[str, ...]


@cache
def breaches(path: Path) -> Breaches:
    """Those of one file."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    return Breaches(
        named_like_tests=tuple(collected_by_pytest(nodes)),
        imported_otherwise=tuple(imported_otherwise(path, nodes)),
        long_functions=tuple(long_functions(path, nodes)),
    )


def collected_by_pytest(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of classes and functions that pytest would take for tests where they are imported."""
    for node in nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if re.match("Test|test", name):
                    yield name


def imported_otherwise(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Imports of our own modules that are written in another way than the house does."""
    module = path.relative_to(ROOT).with_suffix("").parts
    folder = ".".join(module[1:-1] if module[0] == "platform" else module[:-1])
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            is_far = node.level > 1 or (node.level == 1 and "." in (node.module or ""))
            is_near = node.level == 0 and folder in (node.module, (node.module or "").rpartition(".")[0])
            if is_far or is_near:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {'.' * node.level}{node.module or ''}"


def long_functions(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Functions and methods of more than 50 lines."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 50:  # type: ignore[operator]
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"


def foreign_keys_upward() -> Iterator[str]:
    """Relations of our models that point to a layer above their own."""
    rank = {layer: height for height, layer in enumerate(reversed(LAYERS))}
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.get_fields():
            own, target = model._meta.app_label, field.related_model
            if own not in rank or not field.concrete or not isinstance(target, type):
                continue
            if rank.get(target._meta.app_label, -1) > rank[own]:
                yield f"{model.__name__}.{field.name} -> {target.__name__}"


def test_the_folder_platform_never_shadows_the_standard_library() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()
    code = "import uuid, asyncio, platform; print(platform.system())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, sys.platform.capitalize()), done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_outside_the_tests_is_named_like_a_test(path: Path) -> None:
    assert breaches(path).named_like_tests == ()
    assert not re.match("Test|test", path.name)


def test_the_name_rule_sees_classes_and_functions_at_any_depth() -> None:
    tree = ast.parse("class TestRun:\n  def test_it(self): ...\nasync def tests_for(): ...\ndef latest(): ...")
    assert sorted(collected_by_pytest(ast.walk(tree))) == ["TestRun", "test_it", "tests_for"]


def test_siblings_are_imported_by_one_dot_and_all_else_by_its_whole_name() -> None:
    assert [line for path in PRODUCT for line in breaches(path).imported_otherwise] == []


def test_no_file_is_longer_than_750_lines_and_no_function_longer_than_50() -> None:
    long = [str(path.relative_to(ROOT)) for path in PRODUCT if len(path.read_text().splitlines()) > 750]
    assert long + [line for path in PRODUCT for line in breaches(path).long_functions] == []


def test_foreign_keys_point_to_the_same_layer_or_a_lower_one() -> None:
    assert list(foreign_keys_upward()) == []


def test_every_package_is_a_layer_and_every_layer_is_shipped() -> None:
    at_root = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"assay"}
    shipped = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(LAYERS) == at_root - {"tests", "benchmarks"}
    assert {Path(package).name for package in shipped} == set(LAYERS)
    assert set(PYPROJECT["tool"]["importlinter"]["root_packages"]) == set(LAYERS)


def test_every_dependency_is_locked_with_its_hashes() -> None:
    project = PYPROJECT["project"]
    extras = [item for extra in project["optional-dependencies"].values() for item in extra]
    wanted = {normal(re.split(r"[^\w.-]", item)[0]) for item in project["dependencies"] + extras}
    locks = "\n".join(path.read_text() for path in (ROOT / "deploy" / "locks").iterdir())
    pins = re.findall(r"^([\w.-]+)==(.*(?:\n    --hash=sha256:.*)*)", locks, re.MULTILINE)
    locked = {normal(name): hashes for name, hashes in pins}
    assert wanted - set(locked) == set()
    assert [name for name, hashes in locked.items() if "--hash" not in hashes] == []


def test_the_readme_names_only_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {match for page in ("README.md", "CONTRIBUTING.md") for match in commands_in(ROOT / page)}
    assert named - targets == set()


def test_the_readme_names_each_stage_of_the_flow_once() -> None:
    flow = (ROOT / "README.md").read_text().partition("## The flow")[2].partition("\n## ")[0]
    drawn, told = re.findall(r"-- (.+?) -->", flow), re.findall(r"^\| `(\w+)` \|", flow, re.MULTILINE)
    assert sorted(drawn + told) == sorted(stage.name for stage in STAGES)


def test_the_documents_name_only_files_that_exist() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    paths = [tuple(line.split("/")) for line in listed.stdout.splitlines() if (ROOT / line).exists()]
    known = {"/".join(path[start:]) for path in paths for start in range(len(path))}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    named = {
        (page.name, name) for page in pages for name in re.findall(r"(?<![\w./])[\w./]*\w\.py\b", page.read_text())
    }
    assert [(page, name) for page, name in sorted(named) if name.removeprefix("../") not in known] == []


def test_every_link_between_documents_leads_to_a_file() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([\w./-]+)[#)]", page.read_text())]
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("folder", [room for room, _ in rooms(depth=4) if room.suffix != ".py"], ids=str)
def test_every_folder_says_what_lives_there_and_what_does_not(folder: Path) -> None:
    assert len(said(ROOT / folder)) >= 2


def test_the_architecture_shows_the_folders_that_there_are() -> None:
    text = PAGE.read_text()
    assert page(text) == text, "make docs writes them anew"


def commands_in(page: Path) -> list[str]:
    """The make targets that a page tells its reader to run."""
    return re.findall(r"(?:^|`|\$ )make ([a-z][\w-]*)", page.read_text(), re.MULTILINE) if page.exists() else []


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
