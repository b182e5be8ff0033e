"""The catalog as YAML, a file or a folder: ``load`` reads it whole, or says everything that is wrong at once."""

import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.catalog.profile import CatalogProfile
from assay.provider_entries import RESERVED

from .parts import PARTS, YamlPart
from .profiles import Finding, YamlParts, cross_check, to_profile
from .yaml_text import UnableToParseYaml, YamlProblem, YamlText, parse_yaml, path_text

_HINTS = {
    "string_type": "write text, in quotes if it looks like a number or yes/no",
    "bool_type": "write true or false",
    "int_type": "write a whole number",
    "float_type": "write a number such as 0.999, or a share such as 99.9 %",
    "list_type": "write a list, one item a line after a dash",
    "dict_type": "write a mapping of key: value",
    "model_type": "write a mapping of key: value",
}


NAMED = ("datasets", "business_metrics")  # the sections whose names tests, gates and pages may ask for
SUFFIXES = (".yaml", ".yml")
_SOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)
_AFTER_A_USER = re.compile(r"""(://[^/@\s:'"]*):[^\s'"]*""")


class UnableToReadCatalog(ValueError):
    """A catalog that cannot be used, with one line for everything that is wrong in it, by file and line."""

    def __init__(self, problems: Iterable[tuple[Path, YamlProblem]]) -> None:
        by_place = sorted(problems, key=lambda pair: (str(pair[0]), pair[1].line))
        self.problems = tuple(problem for _, problem in by_place)
        lines = [f"{path}:{at.line}: {at.path + ': ' if at.path else ''}{at.sentence}" for path, at in by_place]
        super().__init__("\n".join(lines))


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file that is YAML, and by which numbers its parts go: those of the files before it come first."""

    path: Path
    text: YamlText
    first: Mapping[str, int]

    def items(self, section: str) -> list[Any]:
        """What is written in a section; nothing where it is no list."""
        items = self.text.content.get(section) if isinstance(self.text.content, dict) else None
        return items if isinstance(items, list) else []

    def problem(self, finding: Finding) -> tuple[Path, YamlProblem]:
        """A finding in this file, with its line; parts are counted as they stand in it."""
        (section, *rest), sentence = finding if finding[0] else (("",), finding[1])
        if rest and isinstance(rest[0], int) and section in self.first:
            rest[0] -= self.first[str(section)]
        path = [step for step in (section, *rest) if step != ""]
        return self.path, YamlProblem(line=self.text.line(path), path=path_text(path), sentence=sentence)


@dataclass(frozen=True, kw_only=True)
class CatalogReading:
    """What a catalog says: what is right in it as a profile, the source's name if it tells one, and all mistakes."""

    catalog: CatalogProfile
    source: str
    problems: tuple[tuple[Path, YamlProblem], ...]


def load(path: Path) -> CatalogProfile:
    """The catalog that a YAML file, or a folder of them, describes; raises UnableToReadCatalog with all mistakes."""
    reading = read(path)
    if reading.problems:
        raise UnableToReadCatalog(reading.problems)
    return reading.catalog


def read(path: Path, elsewhere: Callable[[str], Mapping[str, bool]] = lambda source: {}) -> CatalogReading:
    """What a YAML file, or all files of a folder as one catalog, say.

    ``elsewhere`` gives the datasets that are not of the source that the files name, as ``YamlParts`` has them.
    """
    files, problems = _parsed(Path(path))
    names: dict[str, Path] = {}  # that the files give their source: all the same one
    wrong = []
    for file in files:
        if not isinstance(file.text.content, dict) or "source" not in file.text.content:
            continue
        name = file.text.content["source"]
        if fault := source_fault(name):
            wrong.append(file.problem((("source",), f"found {reprlib.repr(name)}: {fault}.")))
        elif names and name not in names:
            (other, place), *_ = names.items()
            wrong.append(file.problem((("source",), f"found {name!r}, and {place} says {other!r}: keep one.")))
        else:
            names[name] = file.path
    source = next(iter(names), "")
    parts, findings = _read_parts(files, elsewhere(source))
    problems += [(file.path, doubled) for file in files for doubled in file.text.doubled_keys]
    for finding in cross_check(parts):
        section, number, *_ = finding[0]
        problems.append(_file_at(files, str(section), int(number)).problem(finding))
    problems += [file.problem(finding) for file, finding in findings]
    catalog = to_profile(parts, lambda number: _file_at(files, "datasets", number).path.parent)
    return CatalogReading(catalog=catalog, source=source, problems=(*problems, *wrong))


def _parsed(path: Path) -> tuple[list[_File], list[tuple[Path, YamlProblem]]]:
    """The files that are YAML, and what is wrong with the others."""
    paths = [path]
    if path.is_dir():
        files_below = [file for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES and file.is_file()]
        paths = [file for file in files_below if not any(p.startswith(".") for p in file.relative_to(path).parts)]
        if not paths:
            return [], [_wrong(path, 1, "is a folder without a *.yaml file: name the folder of the catalog.")]
    files: list[_File] = []
    problems: list[tuple[Path, YamlProblem]] = []
    first = dict.fromkeys(PARTS, 0)
    for file in paths:
        try:
            files.append(_File(path=file, text=parse_yaml(file.read_text(encoding="utf-8")), first=first))
        except OSError as error:
            problems.append(_wrong(file, 1, f"cannot be read: {error.strerror}. Check the path and its permissions."))
        except UnicodeDecodeError as error:
            problems.append(_wrong(file, 1, f"is no UTF-8 text at byte {error.start}: save it as UTF-8."))
        except UnableToParseYaml as error:
            sentence = f"no YAML, from column {error.column}: {error.sentence}. Check quotes and indentation."
            problems.append(_wrong(file, error.line, sentence))
        else:
            first = {section: number + len(files[-1].items(section)) for section, number in first.items()}
    return files, problems


def _wrong(path: Path, line: int, sentence: str) -> tuple[Path, YamlProblem]:
    return path, YamlProblem(line=line, path="", sentence=sentence)


def _file_at(files: list[_File], section: str, number: int) -> _File:
    return next(file for file in reversed(files) if file.first[section] <= number)


def source_fault(name: object) -> str | None:
    """What is wrong with the name of a source, if anything is."""
    if not isinstance(name, str) or not _SOURCE.fullmatch(name):
        return "write letters, digits, '-', '_' and '.', at most 100"
    return f"{name!r} is what comes without a file: take another name" if name in RESERVED else None


def _read_parts(files: list[_File], elsewhere: Mapping[str, bool]) -> tuple[YamlParts, list[tuple[_File, Finding]]]:
    """Each part on its own, so that one wrong part hides nothing of the others."""
    findings: list[tuple[_File, Finding]] = []
    read: dict[str, dict[int, Any]] = {section: {} for section in PARTS}
    places: dict[tuple[str | int, ...], str] = {}
    for file in files:
        content = file.text.content
        if not isinstance(content, dict):
            sentence = f"found {reprlib.repr(content)}: write a mapping with the keys {', '.join(PARTS)}."
            findings.append((file, ((), sentence)))
            continue
        for key in content:
            if key not in (*PARTS, "source"):
                findings.append((file, ((str(key),), _unknown_key(str(key), [*PARTS, "source"]))))
        for section, part in PARTS.items():
            if (items := content.get(section) or []) and not isinstance(items, list):
                findings.append((file, ((section,), f"found {reprlib.repr(items)}: {_HINTS['list_type']}.")))
            for at, item in enumerate(file.items(section)):
                number = file.first[section] + at
                places[section, number] = f"{file.path}:{file.text.line((section, at))}"
                for text in ("assertion", "expression"):
                    places[section, number, text] = f"{file.path}:{file.text.line((section, at, text))}"
                try:
                    read[section][number] = part.model_validate(item)
                except ValidationError as error:
                    for wrong in error.errors():
                        findings.append((file, ((section, number, *wrong["loc"]), sentence_of(wrong, part))))
    # the names of wrong datasets too, so that one mistake is not reported again by whoever names it
    items = [item for file in files for section in NAMED for item in file.items(section) if isinstance(item, dict)]
    names = [item["name"] for item in items if isinstance(item.get("name"), str)]
    return YamlParts(**read, names=names, places=places, elsewhere=elsewhere), findings


def sentence_of(details: ErrorDetails, part: type[YamlPart]) -> str:
    """What was found, what is allowed and how to mend it."""
    kind, value = details["type"], hide_passwords(reprlib.repr(details["input"]))
    if kind == "missing":
        return f"is missing: add {details['loc'][-1]}: …"
    if kind == "extra_forbidden":
        *path, key = details["loc"]
        schema = node = part.model_json_schema()
        for step in path:
            if "patternProperties" in node:  # keys of one's own, such as the names of columns
                (node,) = node["patternProperties"].values()
            elif isinstance(step, int):
                node = node["items"]
            else:
                node = node["properties"].get(step, node)  # which of several parts was tried is no step
            choices = (node, *node.get("anyOf", ()), *node.get("oneOf", ()))
            reference = next((choice["$ref"] for choice in choices if "$ref" in choice), None)
            node = schema["$defs"][reference.rpartition("/")[2]] if reference else node
        return _unknown_key(str(key), list(node["properties"]))
    if kind == "value_error":
        return f"found {value}: {str(details['ctx']['error']).rstrip('.')}."
    message = _HINTS.get(kind) or details["msg"][:1].lower() + details["msg"][1:]
    return f"found {value}: {message}."


def hide_passwords(text: str) -> str:
    """The text without what follows the name of a user in its URLs: that may be a password, or the start of one."""
    return _AFTER_A_USER.sub(r"\1:…", text)


def _unknown_key(key: str, keys: list[str]) -> str:
    near = get_close_matches(key, keys)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"found the unknown key {key!r}: {hint}Known here: {', '.join(keys)}."
