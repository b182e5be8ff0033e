"""YAML with its places: what was written, and on which line each part of it stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.resolver import Resolver

Path = Sequence[str | int]


@dataclass(frozen=True, kw_only=True)
class YamlProblem:
    """One thing wrong in a file: where, and a sentence that says what was found and how to mend it."""

    line: int
    path: str
    sentence: str


class UnableToParseYaml(ValueError):
    """A text that is no YAML at all, with the line and column (from 1) at which that shows."""

    def __init__(self, sentence: str, line: int, column: int) -> None:
        super().__init__(sentence)
        self.sentence, self.line, self.column = sentence, line, column


MOST_MERGED = 1_000  # keys that one mapping takes from others
LONGEST_INTEGER = 100  # characters: far above any count, far below what takes long to read or cannot be printed


class _Loader(Composer, CParser, SafeConstructor, Resolver):
    """The safe loader, save that dates stay text: a partition key such as 2013-01-01 needs no quotes.

    libyaml reads the text, and Python puts it together: libyaml does so too, but dies of what is nested too deeply.
    """

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """A whole number, of a length that people write."""
        if len(node.value) > LONGEST_INTEGER:
            problem = f"a whole number of {len(node.value)} characters: write at most {LONGEST_INTEGER}, or quote it"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return int(super().construct_yaml_int(node))

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge keys (``<<``) as in YAML, of a mapping that stays of a size that people write."""
        copied = 0
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                continue
            for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(part, yaml.MappingNode):
                    self.flatten_mapping(part)
                    copied += max(1, len(part.value))
                if copied > MOST_MERGED:
                    problem = f"merge keys (<<) copy more than {MOST_MERGED} keys into one mapping: write them out"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        super().flatten_mapping(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)  # type: ignore[type-var]
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, kw_only=True)
class YamlText:
    """A parsed file: its content as plain values, and its nodes to find lines by."""

    content: Any
    root: yaml.Node | None
    doubled_keys: tuple[YamlProblem, ...]

    def line(self, path: Path) -> int:
        """The line (from 1) on which the deepest written part of ``path`` stands."""
        node, line = self.root, 1
        for step in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                mark = node = node.value[step]
            elif isinstance(node, yaml.MappingNode):
                pairs = (pair for pair in reversed(node.value) if pair[0].value == step)
                mark, node = next(pairs, (None, None))
            else:
                break
            if mark is None:
                break
            line = mark.start_mark.line + 1
        return line


def parse_yaml(text: str) -> YamlText:
    """The content of a YAML text with its places; raises UnableToParseYaml."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        doubled = tuple(_doubled_keys(root))  # before the merge keys (<<) are resolved, which doubles keys in earnest
        content = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark, lines = error.problem_mark or error.context_mark, text.split("\n")
        reason = " ".join(part for part in (error.context, error.problem) if part)
        if mark and mark.line >= len(lines):  # libyaml's end of a text lies behind its last line
            raise UnableToParseYaml(reason, len(lines), len(lines[-1]) + 1) from None
        raise UnableToParseYaml(reason, mark.line + 1 if mark else 1, mark.column + 1 if mark else 1) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnableToParseYaml(str(error) or "nested too deeply", 1, 1) from None
    return YamlText(content=content, root=root, doubled_keys=doubled)


def path_text(path: Path) -> str:
    """A path as people write it: ``datasets[0].partition.column``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _doubled_keys(root: yaml.Node | None) -> Iterator[YamlProblem]:
    """A problem for each key that a mapping holds twice, as YAML would silently drop the first."""
    waiting, seen = [root], set()
    while waiting:  # every mapping once, however many aliases lead to it
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            waiting += [part for pair in reversed(node.value) for part in reversed(pair)]
            lines: dict[str, int] = {}
            for key, _ in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if name in lines:
                    sentence = f"the key is written twice, first on line {lines[name]}: keep one of the two."
                    yield YamlProblem(line=line, path=name, sentence=sentence)
                lines.setdefault(name, line)
