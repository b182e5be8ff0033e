"""The answers of the client are those of the OpenAPI document."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from assay_client import answers

OF_DOCUMENT = {
    answers.QualityReason: "QualityReason",
    answers.IncidentInAnswer: "QualityIncident",
    answers.Quality: "TableQuality",
    answers.QueryQuality: "QueryAnswer",
    answers.GateReason: "GateReason",
    answers.GateAnswer: "GateVerdict",
    answers.CompletedAnswer: "CompletionVerdict",
    answers.Incident: "IncidentRow",
    answers.Report: "ReportAnswer",
    answers.Dataset: "DatasetRow",
    answers.Lineage: "LineageGraph",
    answers.LineageDataset: "LineageDataset",
    answers.Edge: "Edge",
    answers.EdgeSource: "EdgeSource",
}


@pytest.fixture(scope="module")
def shapes() -> dict[str, Any]:
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    schemas: dict[str, Any] = document["components"]["schemas"]
    return schemas


@pytest.mark.parametrize("shape", OF_DOCUMENT, ids=lambda shape: shape.__name__)
def test_the_document_has_every_member_and_says_of_null_what_the_client_expects(
    shape: type[answers.Answer], shapes: dict[str, Any], db: None
) -> None:
    document = shapes[OF_DOCUMENT[shape]]
    for member in answers.members(shape):
        source = "replicas" if member.name == "datacenters" else member.source
        said = document["properties"][source]
        assert source in document["required"]
        may_be_null = "null" in said.get("type", ()) or {"type": "null"} in said.get("oneOf", ())
        assert not (may_be_null and member.is_needed), source
        assert (said.get("format") == "date-time") == ("datetime" in str(member.kind)), source
