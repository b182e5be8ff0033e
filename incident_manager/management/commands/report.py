"""``assay report``: how good data and tests were."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table

from assay import clock
from assay.catalog.selectors import by_name
from assay.commands import Command as Base
from assay.commands import UnableToRun
from assay.exit_codes import ExitCode
from assay.models import Category, Dataset
from incident_manager.scores import Score
from incident_manager.selectors import scores

DEFAULT_RANGE = timedelta(days=28)


class Command(Base):
    """The metric reporter."""

    help = "Print precision, recall and quality by duration, per dataset and category (default: the last 28 days)."

    def add_arguments(self, parser: CommandParser) -> None:
        """The range, and what to narrow it to."""
        parser.add_argument("--from", dest="start", type=_instant, help="start of the range, ISO 8601")
        parser.add_argument("--to", dest="end", type=_instant, help="end of the range, ISO 8601 (default: now)")
        parser.add_argument("--dataset", help="full name, such as raw.trips")
        parser.add_argument("--category", choices=Category.values)
        parser.add_argument("--tier", type=int, choices=range(6))
        parser.add_argument("--team")
        parser.add_argument("--owner")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The total, a row per dataset and category, and the look-ups."""
        now = clock.now()
        end = options["end"] or now
        start = options["start"] or end - DEFAULT_RANGE
        if start >= end:
            raise UnableToRun(f"--from {start.isoformat()} is not before --to {end.isoformat()}")
        narrowed = {name: options[name] for name in ("category", "tier", "team", "owner")}
        found = scores(start=start, end=end, now=now, dataset=_dataset(options["dataset"]), **narrowed)
        rows = [{"dataset": row.dataset, "category": row.category, **_figures(row.score)} for row in found.rows]
        result = {
            "from": found.start.isoformat(),
            "to": found.end.isoformat(),
            "total": _figures(found.total),
            "rows": rows,
            "query_quality": found.look_ups.query_quality,
        }
        return ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """A table with the total below."""
        title = f"{result['from']} to {result['to']}"
        table = Table("dataset", "category", "precision", "recall", "data quality", title=title)
        for row in [*result["rows"], {"dataset": "all", "category": "", **result["total"]}]:
            shown = [_share(row[name]) for name in ("precision", "recall", "data_quality")]
            table.add_row(row["dataset"], row["category"], *shown)
        console.print(table)
        console.print(f"query-level quality: {_share(result['query_quality'])}")


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _dataset(name: str | None) -> Dataset | None:
    if name is None or (found := by_name(name)) is not None:
        return found if name else None
    raise UnableToRun(f"the catalog has no dataset {name!r}")


def _figures(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "data_quality": score.data_quality,
        "true_positive_seconds": score.true_positive.total_seconds(),
        "false_positive_seconds": score.false_positive.total_seconds(),
        "false_negative_seconds": score.false_negative.total_seconds(),
        "open": score.open,
    }


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
