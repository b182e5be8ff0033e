"""Templates and datasets to try them on."""

from typing import Any

from assay.catalog.profile import Column, ColumnSelector, DatasetProfile, Selector, TemplateProfile
from test_generator.definition import Generation
from test_generator.templates.rules import making
from tests.unit.test_generator.profiles import dataset

EVERY = ColumnSelector()


def template(name: str = "rows come", assertion: str = "row_count() >= {least}", **more: Any) -> TemplateProfile:
    defaults: dict[str, Any] = {"selector": Selector(), "parameters": {"least": "1"}}
    return TemplateProfile(name=name, assertion=assertion, **{**defaults, **more})


def of_columns(name: str = "known", assertion: str = "completeness({column}) = 1", **columns: Any) -> TemplateProfile:
    selector = Selector(columns=ColumnSelector(**columns))
    return template(name, assertion, parameters={}, selector=selector)


def table(name: str = "raw.trips", **columns: str) -> DatasetProfile:
    told = columns or {"trip_id": "bigint", "city": "string", "at": "timestamp"}
    return dataset(name, columns=tuple(Column(name=key, type=type_) for key, type_ in told.items()))


def made(of: DatasetProfile, *templates: TemplateProfile) -> Generation:
    """What templates come to where every assertion but ``wrong()`` fits."""
    return making(templates, of, lambda assertion: f"no {assertion}" if "wrong" in assertion else None)


def texts(of: DatasetProfile, *templates: TemplateProfile) -> dict[str, str]:
    """The assertions that are made, by the names of their tests."""
    return {test.name: test.definition.assertion for test in made(of, *templates).tests}
