"""Bindings of pipelines to tests in a catalog file."""

from pathlib import Path

import pytest

from assay.catalog.profile import BindingProfile
from assay.catalog.yaml.provider import load
from tests.unit.assay.test_yaml_catalog import problems, trips, write

ONE = "- {pipeline: load, dataset: raw.trips, test: fares, gate: weak}"


def test_a_binding_has_what_its_file_says(tmp_path: Path) -> None:
    (binding,) = load(write(tmp_path, f"{trips()}\nbindings:\n{ONE}\n")).bindings
    assert binding == BindingProfile(pipeline="load", dataset="raw.trips", test="fares", gate="weak")
    assert binding.place.endswith("catalog.yaml:9")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ONE.replace("weak", "hard"), "bindings[0].gate: found 'hard': input should be 'strong' or 'weak'."),
        (ONE.replace("raw.trips", "raw.trip"), "found 'raw.trip', a dataset that datasets does not name: did you"),
        (
            f"{ONE}\n{ONE.replace('weak', 'strong')}",
            "bindings[1]: found 'load' bound to raw.trips, test 'fares', again",
        ),
        (ONE.replace("pipeline", "pipe"), "bindings[0].pipeline: is missing: add pipeline"),
    ],
)
def test_a_wrong_binding_is_told_with_how_to_mend_it(tmp_path: Path, text: str, sentence: str) -> None:
    assert sentence in problems(tmp_path, f"{trips()}\nbindings:\n{text}\n")
