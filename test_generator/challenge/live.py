"""The live tests of a dataset as assertions on copies of its windows, and what these read of other datasets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

import pyarrow.parquet as pq

from assay.catalog.selectors import by_name, home
from assay.command_line.command import UnableToRun
from assay.models import Category, Dataset, DataTest, Scope
from assay.time.windows import Partitioning, Window
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.protocol import Table
from execution_engine.file_windows import files_of, rows_of
from execution_engine.language.templates import UnableToRender
from execution_engine.verification import Check, UnableToAssert

from .fitness import JUDGED_ANYWAY, OTHER_PLACE, WHOLE_TABLE, Beside, beside, for_window, has_past, why_not
from .verifying import Asked, Moment


@dataclass(frozen=True, kw_only=True)
class LiveTests:
    """Those that can be judged, and why the others cannot, by their names."""

    asked: tuple[Asked, ...]
    unjudged: Mapping[str, str]


def live_tests(dataset: Dataset) -> LiveTests:
    """Every test that is not retired, standard ones and those of users."""
    tests = DataTest.objects.filter(dataset=dataset, retired_at__isnull=True, revision__isnull=False)
    asked, unjudged = [], {}
    for test in tests.select_related("dataset", "revision").order_by("name"):
        why = _why_not(test)
        if why is None:
            asked.append(_asked(test))
        else:
            unjudged[test.name] = why
    return LiveTests(asked=tuple(asked), unjudged=unjudged)


def _why_not(test: DataTest) -> str | None:
    assert test.revision is not None
    partitioning, here = test.dataset.partitioning, home(test.dataset).datacenter
    assert partitioning is not None
    if test.category == Category.NOVELTY:
        return JUDGED_ANYWAY
    if test.scope == Scope.TABLE:
        return WHOLE_TABLE
    if test.datacenter != here:
        return OTHER_PLACE.format(test.datacenter, here)
    assertion = test.revision.assertion
    if (why := why_not(assertion)) is not None:
        return why
    try:
        Check().holds(for_window(assertion, partitioning.at(test.created_at), partitioning))
    except (UnableToAssert, UnableToRender) as error:
        return str(error)
    return next(_unread(beside(assertion)), None)


def _unread(others: Beside) -> Iterator[str]:
    """Why another dataset cannot be read."""
    for name in sorted(others.windows | others.whole):
        try:
            _files_named(name)
        except UnableToRun as error:
            yield str(error)


def _files_named(name: str) -> tuple[Dataset, Table]:
    dataset = by_name(name)
    if dataset is None:
        raise UnableToRun(f"there is no dataset {name}")
    return dataset, files_of(dataset)


def _asked(test: DataTest) -> Asked:
    assert test.revision is not None
    assertion, partitioning = test.revision.assertion, test.dataset.partitioning
    assert partitioning is not None

    def check(moment: Moment) -> Check:
        return Check().holds(for_window(assertion, partitioning.window(moment.key), partitioning))

    written = for_window(assertion, None, None)
    return Asked(name=test.name, check=check, has_past=has_past(written), beside=beside(assertion))


def moment_of(window: Window, partitioning: Partitioning) -> Moment:
    """The moment of a partition, by the dataset's own clock, so that steps of days find their days."""
    local = window.start.astimezone(partitioning.zone)
    return Moment(key=partitioning.key(window), at=local.replace(tzinfo=UTC))


@dataclass(kw_only=True)
class Upstreams:
    """Sound windows of other datasets, each written once into the folder of the copies."""

    folder: Path
    partitioning: Partitioning
    _written: dict[tuple[str, str], Path | None] = field(default_factory=dict)

    def __call__(self, others: Beside, moment: Moment) -> dict[str, Table | Path]:
        """What an assertion reads beside the copy of a window; a dataset that has no rows there is left out."""
        whole: dict[str, Table | Path] = {name: _files_named(name)[1] for name in others.whole}
        windows = {name: self._window_of(name, moment) for name in others.windows}
        return whole | {name: path for name, path in windows.items() if path is not None}

    def _window_of(self, name: str, moment: Moment) -> Path | None:
        if (name, moment.key) not in self._written:
            dataset, table = _files_named(name)
            try:
                rows = rows_of(dataset, table, self.partitioning.window(moment.key))
            except UnableToListFiles as error:
                raise UnableToRun(str(error.failure.detail)) from None
            path = self.folder / f"beside-{len(self._written)}.parquet"
            if rows is not None:
                pq.write_table(rows, path)
            self._written[name, moment.key] = None if rows is None else path
        return self._written[name, moment.key]
