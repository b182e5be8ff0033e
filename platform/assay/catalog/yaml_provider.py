"""The catalog as a YAML file: ``load`` reads it whole, or says everything that is wrong with it at once."""

import reprlib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.catalog.profile import CatalogProfile
from assay.catalog.yaml_checks import Finding, Parts, cross_check
from assay.catalog.yaml_profile import to_profile
from assay.catalog.yaml_schema import PARTS, Part
from assay.catalog.yaml_text import Problem, UnableToParseYaml, YamlText, parse_yaml, path_text

_HINTS = {
    "string_type": "write text, in quotes if it looks like a number or yes/no",
    "bool_type": "write true or false",
    "int_type": "write a whole number",
    "float_type": "write a number such as 0.999, or a share such as 99.9 %",
    "list_type": "write a list, one item a line after a dash",
    "dict_type": "write a mapping of key: value",
    "model_type": "write a mapping of key: value",
}


class UnableToReadCatalog(ValueError):
    """A catalog file that cannot be used, with one line for everything that is wrong in it."""

    def __init__(self, path: Path, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        lines = [f"{path}:{each.line}: {each.path + ': ' if each.path else ''}{each.sentence}" for each in problems]
        super().__init__("\n".join(lines))


def load(path: Path) -> CatalogProfile:
    """The catalog that a YAML file describes; raises UnableToReadCatalog with all of its problems, by line."""
    path = Path(path)
    try:
        text = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unable(path, 1, f"cannot be read: {error.strerror}. Check the path and its permissions.") from None
    except UnicodeDecodeError as error:
        raise _unable(path, 1, f"is no UTF-8 text at byte {error.start}: save it as UTF-8.") from None
    except UnableToParseYaml as error:
        sentence = f"no YAML, from column {error.column}: {error.sentence}. Check quotes and indentation."
        raise _unable(path, error.line, sentence) from None
    parts, findings = _read_parts(text.content)
    problems = [*text.doubled_keys, *(_problem(text, finding) for finding in (*findings, *cross_check(parts)))]
    if problems:
        raise UnableToReadCatalog(path, tuple(sorted(problems, key=lambda each: each.line)))
    return to_profile(parts, path.parent)


def _unable(path: Path, line: int, sentence: str) -> UnableToReadCatalog:
    return UnableToReadCatalog(path, (Problem(line=line, path="", sentence=sentence),))


def _problem(text: YamlText, finding: Finding) -> Problem:
    path, sentence = finding
    return Problem(line=text.line(path), path=path_text(path), sentence=sentence)


def _read_parts(content: Any) -> tuple[Parts, list[Finding]]:
    """Each part on its own, so that one wrong part hides nothing of the others."""
    findings: list[Finding] = []
    read: dict[str, dict[int, Any]] = {section: {} for section in PARTS}
    if not isinstance(content, dict):
        findings.append(((), f"found {reprlib.repr(content)}: write a mapping with the keys {', '.join(PARTS)}."))
        content = {}
    findings += [((str(key),), _unknown_key(str(key), list(PARTS))) for key in content if key not in PARTS]
    for section, part in PARTS.items():
        items = content.get(section) or []
        if not isinstance(items, list):
            findings.append(((section,), f"found {reprlib.repr(items)}: {_HINTS['list_type']}."))
            continue
        for index, item in enumerate(items):
            try:
                read[section][index] = part.model_validate(item)
            except ValidationError as error:
                findings += _findings(error, (section, index), part)
    names = _names(content.get("datasets"))
    return Parts(datasets=read["datasets"], lineage=read["lineage"], tests=read["tests"], names=names), findings


def _names(datasets: object) -> list[str]:
    """The names written, those of wrong datasets too, so that one mistake is not reported again by whoever names it."""
    written = [item.get("name") for item in datasets if isinstance(item, dict)] if isinstance(datasets, list) else []
    return [name for name in written if isinstance(name, str)]


def _findings(error: ValidationError, place: tuple[str, int], part: type[Part]) -> Iterator[Finding]:
    for details in error.errors(include_url=False):
        yield (*place, *details["loc"]), _sentence(details, part)


def _sentence(details: ErrorDetails, part: type[Part]) -> str:
    """What was found, what is allowed and how to mend it."""
    kind, found = details["type"], reprlib.repr(details["input"])
    if kind == "missing":
        return f"is missing: add {details['loc'][-1]}: …"
    if kind == "extra_forbidden":
        return _unknown_key(str(details["loc"][-1]), _known_keys(part, details["loc"][:-1]))
    if kind == "value_error":
        return f"found {found}: {str(details['ctx']['error']).rstrip('.')}."
    message = _HINTS.get(kind) or details["msg"][:1].lower() + details["msg"][1:]
    return f"found {found}: {message}."


def _unknown_key(key: str, known: list[str]) -> str:
    near = get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"found the unknown key {key!r}: {hint}Known here: {', '.join(known)}."


def _known_keys(part: type[Part], path: tuple[int | str, ...]) -> list[str]:
    """The keys of the part at ``path`` inside ``part``."""
    schema = part.model_json_schema()
    definitions, node = schema.get("$defs", {}), schema
    for step in path:
        node = node["items"] if isinstance(step, int) else node["properties"][step]
        options = [node, *node.get("anyOf", [])]
        reference = next((each["$ref"] for each in options if "$ref" in each), None)
        node = definitions[reference.rsplit("/", 1)[-1]] if reference else node
    return list(node.get("properties", {}))
