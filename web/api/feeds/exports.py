"""Exports: rows of a range as a file, sent while it is read."""

from typing import Any, ClassVar

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from assay import clock
from incident_manager.exports.files import FORMS
from incident_manager.exports.rows import TABLES, export
from web.access.who import hidden_datasets
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetField, Shape, with_range


@with_range
class ExportQuery(Shape):
    """The rows to export."""

    dataset = DatasetField(required=False, help_text="left out: all that you may see")


class AnyFile(BaseRenderer):
    """The media type of a file, whatever the request accepts; the view writes the file itself."""

    media_type, format = "*/*", "file"

    def render(self, data: Any, *_: object, **__: object) -> Any:
        """The file, unchanged."""
        return data


class Export(Api):
    """GET the rows of a range as a file."""

    renderer_classes = [AnyFile]
    table: ClassVar[str]
    form: ClassVar[str]

    def get(self, request: Request) -> HttpResponseBase:
        """Export the rows of a range as a file.

        The range holds runs by when they were evaluated, measurements by when they were measured, and incidents by when
        they were detected, the oldest first. Instants are in UTC. `value` is a float, `exact` has all of its digits. In
        CSV a text that a spreadsheet might run as a formula begins with an apostrophe.
        """
        asked = self.asked(ExportQuery)
        parts = export(
            self.table,
            self.form,
            span=asked["range"],
            dataset=asked.get("dataset"),
            hidden=hidden_datasets(request),
            now=clock.now(),
        )
        name = f"{self.table}-{asked['from']:%Y%m%dT%H%M%SZ}-{asked['to']:%Y%m%dT%H%M%SZ}.{self.form}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return StreamingHttpResponse(parts, content_type=FORMS[self.form].media_type, headers=headers)


def _of(table: str, form: str) -> type[Export]:
    """The view of one kind of file, with its own words in the document."""
    answer = {(200, FORMS[form].media_type): OpenApiTypes.BINARY if form == "parquet" else str}
    described = extend_schema(
        operation_id=f"exports_{table}_{form}",
        summary=f"Export the {table} of a range as {form.upper() if form == 'csv' else form.capitalize()}",
        parameters=[ExportQuery],
        responses=answer,
    )
    made: type[Export] = type("Export", (Export,), {"table": table, "form": form, "__doc__": Export.__doc__})
    return extend_schema_view(get=described)(made)


EXPORTS = {f"{table}.{form}": _of(table, form) for table in TABLES for form in FORMS}
