"""docs/metrics.md is the registry written out."""

import pytest

from execution_engine.language.checking import DatasetSchema, check
from execution_engine.language.parse import parse
from execution_engine.metrics.registry import METRICS, SIGNATURES
from tests.unit.execution_engine.metrics.metrics_page import DEEQU, PATH, ROOT, Row, page


def test_the_page_is_what_the_registry_says() -> None:
    assert PATH.read_text() == page(), "make docs writes it anew"


@pytest.mark.parametrize("row", [row for row in DEEQU if row.table == 1], ids=lambda row: row.theirs)
def test_what_the_page_says_to_write_is_accepted(row: Row) -> None:
    home = DatasetSchema(name="raw.trips", columns=None)
    for text in row.write.replace(", …", "").split("; "):
        check(parse(text), home=home, schema_of=lambda _: None, signatures=SIGNATURES, source=text)


@pytest.mark.parametrize("row", DEEQU, ids=lambda row: row.theirs)
def test_every_row_of_the_paper_has_its_metric_and_a_proof(row: Row) -> None:
    assert row.ours
    assert set(row.ours) <= set(METRICS)
    assert (ROOT / row.proof).is_file()
