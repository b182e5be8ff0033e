"""What the parts of a catalog file must say of each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from assay.catalog.yaml_schema import CustomPart, DatasetPart, LineagePart
from assay.catalog.yaml_text import Path

Finding = tuple[Path, str]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts that are right in themselves, by their place in the file, and every dataset's name that is written."""

    datasets: Mapping[int, DatasetPart]
    lineage: Mapping[int, LineagePart]
    tests: Mapping[int, CustomPart]
    names: Sequence[str]


def cross_check(parts: Parts) -> Iterator[Finding]:
    """Everything that is wrong between parts: where, and a sentence that says how to mend it."""
    yield from _doubled_names(parts.datasets)
    for index, dataset in parts.datasets.items():
        for path, sentence in _dataset(dataset):
            yield ("datasets", index, *path), sentence
    yield from _lineage(parts)
    yield from _custom(parts)


def _doubled_names(datasets: Mapping[int, DatasetPart]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, dataset in datasets.items():
        if first.setdefault(dataset.name, index) != index:
            yield (
                ("datasets", index, "name"),
                f"found {dataset.name!r} again, already datasets[{first[dataset.name]}]: keep one of the two.",
            )


def _dataset(dataset: DatasetPart) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, replica in enumerate(dataset.replicas):
        if replica.datacenter in seen:
            sentence = f"found a second replica in {replica.datacenter!r}: a datacenter holds one replica."
            yield ("replicas", index, "datacenter"), sentence
        seen.add(replica.datacenter)
    if not dataset.columns:
        return
    key = dataset.partition.column if dataset.partition else None  # may be a folder's name, and no declared column
    for index, column in enumerate(dataset.primary_key):
        if column not in dataset.columns and column != key:
            yield ("primary_key", index), _unknown("column", column, dataset.columns, "columns")


def _lineage(parts: Parts) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, edge in parts.lineage.items():
        for end, name in (("upstream", edge.upstream), ("downstream", edge.downstream)):
            if name not in parts.names:
                yield ("lineage", index, end), _unknown("dataset", name, parts.names, "datasets")
        pair = (edge.upstream, edge.downstream)
        if pair in seen:
            yield ("lineage", index), f"found the edge {edge.upstream} to {edge.downstream} again: keep one of the two."
        if edge.upstream == edge.downstream:
            yield ("lineage", index), f"found an edge from {edge.upstream} to itself: remove it."
        seen.add(pair)


def _custom(parts: Parts) -> Iterator[Finding]:
    partitioned = {dataset.name: dataset.partition is not None for dataset in parts.datasets.values()}
    seen: set[tuple[str, str]] = set()
    for index, test in parts.tests.items():
        if test.dataset not in parts.names:
            yield ("tests", index, "dataset"), _unknown("dataset", test.dataset, parts.names, "datasets")
        if (test.dataset, test.name) in seen:
            sentence = f"found a second test {test.name!r} of {test.dataset}: give it another name."
            yield ("tests", index, "name"), sentence
        if test.schedule == "partition" and not partitioned.get(test.dataset, True):
            sentence = f"found 'partition', but {test.dataset} has no partition: write 'weekly' or a cron line."
            yield ("tests", index, "schedule"), sentence
        seen.add((test.dataset, test.name))


def _unknown(kind: str, name: str, known: Sequence[str] | Mapping[str, str], section: str) -> str:
    near = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"add it under {section}, or correct the name."
    return f"found {name!r}, a {kind} that {section} does not name: {hint}"
