"""Backtests: what a test, written or not, would have raised over the past."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.models import Category, DataTest, Severity
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import as_json
from incident_manager.services import UnableToBacktest, as_revised, backtest
from test_generator.services import UnableToWrite, draft
from web.access.changes import audited
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetField, LengthField, Shape, with_range
from web.api.conventions.problems import Wrong

from .answers import BacktestAnswer

WRITTEN = DataTest.objects.filter(revision__isnull=False).select_related("dataset", "revision")


@with_range
class BacktestQuery(Shape):
    """What to backtest: a test, or an assertion on a dataset, and how it is judged."""

    data_test = serializers.PrimaryKeyRelatedField(queryset=WRITTEN, required=False)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=10**6, help_text="number of a revision of `data_test`"
    )
    dataset = DatasetField(required=False)
    assertion = serializers.CharField(required=False, max_length=4096)
    category = serializers.ChoiceField(Category.choices, required=False)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    sustain = LengthField(required=False)
    grace = LengthField(required=False)


class Backtests(Api):
    """What a test would have raised; GET reads what is stored, POST has measured what is missing as well."""

    @extend_schema(parameters=[BacktestQuery], responses=BacktestAnswer)
    def get(self, request: Request) -> Response:
        """Show what a test would have raised over the past, by what is stored.

        A backtest opens no incident, sends no notice and writes nothing.

        Give ``data_test``, or ``dataset`` and ``assertion``. ``scans_needed`` says what POST would read.
        """
        return Response(self._found(self.asked(BacktestQuery)))

    @extend_schema(request=BacktestQuery, responses={202: BacktestAnswer})
    def post(self, request: Request) -> Response:
        """Have the measurements that a backtest lacks taken, and show what is known so far.

        GET shows the whole backtest once they are taken.
        """
        given = self.given(BacktestQuery)
        with audited(request, "backtest.measure", kind="backtest", given={**given}):
            return Response(self._found(given, measure=True), status=202)

    def _found(self, asked: dict[str, Any], *, measure: bool = False) -> dict[str, Any]:
        now, start, end = clock.now(), asked.pop("from"), asked.pop("to")
        test = _test(asked)
        self.check_object_permissions(self.request, test.dataset)
        try:
            found = backtest(
                as_revised(test, asked.get("revision")),
                start=start,
                end=end,
                now=now,
                sustain=asked.get("sustain"),
                grace=asked.get("grace"),
                measure=measure,
            )
        except UnableToBacktest as error:
            raise Wrong(str(error)) from None
        return as_json(found, Veil(now))


def _test(asked: dict[str, Any]) -> DataTest:
    """The written test, or one of the assertion."""
    if "data_test" in asked:
        if unneeded := sorted({"dataset", "assertion", "category", "severity"} & set(asked)):
            raise Wrong("A written test has its own.", where=unneeded[0], mend="Leave it out, or leave data_test out.")
        test: DataTest = asked["data_test"]
        return test
    if "revision" in asked or not {"dataset", "assertion"} <= set(asked):
        raise Wrong(
            "There is nothing to backtest.", where="data_test", mend="Give data_test, or dataset and assertion."
        )
    try:
        category = asked.get("category", Category.CUSTOM)
        return draft(asked["dataset"], asked["assertion"], category=category, severity=asked.get("severity"))
    except UnableToWrite as error:
        raise Wrong(str(error), where="assertion") from None
