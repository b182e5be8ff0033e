"""The house in figures: files, functions, names and folders of the product, from the code itself.

``make house``, or ``python -m tests.house.figures [--json | --followed]``; ``--followed`` names the files that
one reads to follow a metric and a scan. Tests, benchmarks, deploy and migrations are left out.
"""

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parents[2]
PACKAGES = ("platform/assay", "execution_engine", "test_generator", "alerting", "incident_manager", "web")
STANDARD = {
    "__init__",
    "apps",
    "models",
    "services",
    "selectors",
    "tasks",
    "rules",
    "urls",
}  # each package may have these

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Mapping[Path, ast.Module]:
    """Every file of the product with its tree, but for migrations."""
    files = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {path: ast.parse(path.read_text()) for path in files if "migrations" not in path.parts}


def functions(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[Path, Function]]:
    """Every function and method with its file."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield path, node


def one_use_helpers(trees: Mapping[Path, ast.Module]) -> int:
    """Private functions of a module that its code names once, beside their definition."""
    once = 0
    for tree in trees.values():
        named = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        once += sum(
            1
            for node in tree.body
            if isinstance(node, Function) and node.name.startswith("_") and named[node.name] == 1
        )
    return once


def importers(trees: Mapping[Path, ast.Module]) -> Mapping[str, set[Path]]:
    """Which files import from each module, by its dotted name; a name that is itself a module counts as that module."""
    dotted = {".".join(_parts(path)): path for path in trees}
    users: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            here = _parts(path) if path.name == "__init__.py" else _parts(path)[:-1]
            start = here[: len(here) - node.level + 1] if node.level else []
            source = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                users[name if (name := f"{source}.{alias.name}") in dotted else source].add(path)
    return users


def _parts(path: Path) -> list[str]:
    relative = path.relative_to(ROOT / "platform" if "platform" in path.parts else ROOT).with_suffix("")
    return [part for part in relative.parts if part != "__init__"]


def figures() -> Mapping[str, float]:
    """Each figure by what it counts."""
    trees = modules()
    of_files = sorted(len(path.read_text().splitlines()) for path in trees if path.name != "__init__.py")
    defined = list(functions(trees))
    of_functions = sorted(node.end_lineno - node.lineno + 1 for _, node in defined if node.end_lineno)
    classes = Counter(node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    names = Counter(path.stem for path in trees if path.stem not in STANDARD and "commands" not in path.parts)
    folders = Counter(path.parent for path in trees if path.name != "__init__.py")
    users = importers(trees)
    crumbs = sum(
        1
        for path in trees
        if path.name != "__init__.py"
        and len(path.read_text().splitlines()) < 40
        and len(users[".".join(_parts(path))]) == 1
    )
    return {
        "files": len(of_files),
        "lines of a file, median": median(of_files),
        "lines of a file, 90th percentile": quantiles(of_files, n=10)[-1],
        "lines of the longest file": of_files[-1],
        "functions": len(of_functions),
        "lines of a function, median": median(of_functions),
        "lines of a function, 90th percentile": quantiles(of_functions, n=10)[-1],
        "lines of the longest function": of_functions[-1],
        "functions of one statement": sum(1 for _, node in defined if _statements(node) == 1),
        "class names": len(classes),
        "class names defined more than once": sum(1 for count in classes.values() if count > 1),
        "file names": len(names),
        "file names used more than once": sum(1 for count in names.values() if count > 1),
        "folders": len(folders),
        "files of the fullest folder": max(folders.values()),
        "folders of more than twelve files": sum(1 for count in folders.values() if count > 12),
        "private functions of a module that are used once": one_use_helpers(trees),
        "files under 40 lines with one importer": crumbs,
    }


def _statements(node: Function) -> int:
    return len(node.body) - (ast.get_docstring(node) is not None)


def main() -> None:
    """Prints them."""
    from tests.house.followed import followed  # starts Spark, which who only asks for the folders need not

    parser = argparse.ArgumentParser(prog="python -m tests.house.figures")
    parser.add_argument("--json", action="store_true", help="as one object")
    parser.add_argument("--followed", action="store_true", help="name the files that are followed")
    asked, lists = parser.parse_args(), followed()
    found = {**figures(), **{f"files followed for {what}": len(paths) for what, paths in lists.items()}}
    if asked.json:
        print(json.dumps(found))
        return
    for what, figure in found.items():
        print(f"{figure:>8,.0f}  {what}")
    for what, paths in lists.items() if asked.followed else ():
        print("", f"{what}:", *(f"    {path}" for path in paths), sep="\n")


if __name__ == "__main__":
    main()
