"""``assay report``: how good data and tests were."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay import clock
from assay.catalog.selectors import by_name
from assay.command_line.command import BARE_DATE, UnableToRun, end_of_range
from assay.command_line.command import Command as Base
from assay.command_line.exit_codes import ExitCode
from assay.models import Category, Dataset
from assay.time.windows import place_end
from incident_manager.quality.now import facts_now, of_category
from incident_manager.quality.rules import QualityStatus, RangeRequest, judge
from incident_manager.scores.metric_reporter import USUAL_RANGE, scores
from incident_manager.scores.rules import Score

MOST_REASONS = 5  # of one dataset, that are printed


class Command(Base):
    """The metric reporter."""

    help = "Print precision, recall and quality by duration, per dataset and category (default: the last 28 days)."

    def add_arguments(self, parser: CommandParser) -> None:
        """The range, and what to narrow it to."""
        parser.add_argument("--from", dest="start", type=end_of_range, help=f"start of the range, {BARE_DATE}")
        parser.add_argument("--to", dest="end", type=end_of_range, help="end of the range (default: now)")
        parser.add_argument("--dataset", help="full name, such as raw.trips")
        parser.add_argument("--category", choices=Category.values)
        parser.add_argument("--tier", type=int, choices=range(6))
        parser.add_argument("--team")
        parser.add_argument("--owner")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The total, a row per dataset with its categories, and the queries."""
        now = clock.now()
        name = options["dataset"]
        dataset = None if name is None else by_name(name)
        if name is not None and dataset is None:
            raise UnableToRun(f"the catalog has no dataset {name!r}")
        time_zone = dataset.time_zone if dataset else "UTC"
        end = place_end(options["end"], time_zone) if options["end"] else now
        start = place_end(options["start"], time_zone) if options["start"] else end - USUAL_RANGE
        if start >= end:
            raise UnableToRun(f"--from {start.isoformat()} is not before --to {end.isoformat()}")
        narrowed = {name: options[name] for name in ("category", "tier", "team", "owner")}
        report = scores(start=start, end=end, now=now, dataset=dataset, **narrowed)
        result = {
            "from": report.start.isoformat(),
            "to": report.end.isoformat(),
            "total": _figures(report.total),
            "rows": [
                {
                    "dataset": row.dataset,
                    **_figures(row.score),
                    "categories": [{"category": name, **_figures(score)} for name, score in row.by_category.items()],
                }
                for row in report.rows
            ],
            "query_quality": report.queries.quality,
            "query_quality_without_forced": report.queries.quality_without_forced,
            "unknown": _unknown(dataset, options, now),
        }
        return ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """A table with the total below."""
        title = f"{result['from']} to {result['to']}"
        table = Table("dataset", "category", "precision", "recall", "data quality", title=title)
        for row in result["rows"]:
            table.add_row(row["dataset"], "all", *_shares(row), style="bold")
            for category in row["categories"]:
                table.add_row("", category["category"], *_shares(category))
        table.add_row("all", "all", *_shares(result["total"]), style="bold")
        console.print(table)
        console.print(f"query-level quality: {_share(result['query_quality'])}")
        for unknown_row in result["unknown"]:
            why = "; ".join(f"{reason['test']}: {reason['text']}" for reason in unknown_row["reasons"][:MOST_REASONS])
            console.print(f"[bold]unknown now[/bold]: {unknown_row['dataset']}: {escape(why)}", soft_wrap=True)


def _unknown(dataset: Dataset | None, options: Mapping[str, Any], now: datetime) -> list[dict[str, Any]]:
    """The datasets of which nobody knows now whether they are good, with the tests that could not say."""
    narrowed = {name: options[name] for name in ("tier", "team", "owner") if options[name] is not None}
    if dataset is not None:
        narrowed["pk"] = dataset.pk
    names = dict(Dataset.objects.filter(**narrowed).order_by("full_name").values_list("pk", "full_name"))
    rows = []
    for facts in facts_now(names, now=now).values():
        answer = judge(of_category(facts, options["category"]) if options["category"] else facts, RangeRequest())
        if answer.status is QualityStatus.UNKNOWN:
            reasons = [reason for reason in answer.reasons if reason.status is QualityStatus.UNKNOWN]
            reason_rows = [{"test": reason.test, "text": reason.text, "windows": reason.count} for reason in reasons]
            rows.append({"dataset": answer.dataset, "reasons": reason_rows})
    return rows


def _shares(row: Mapping[str, Any]) -> tuple[str, ...]:
    quality = row["data_quality"]
    alarms = (_share(row[name], " so far" if row["open"] else "") for name in ("precision", "recall"))
    return *alarms, "not tested" if quality is None else _share(quality)


def _figures(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "data_quality": score.data_quality,
        "true_positive_seconds": score.true_positive.total_seconds(),
        "false_positive_seconds": score.false_positive.total_seconds(),
        "false_negative_seconds": score.false_negative.total_seconds(),
        "bad_seconds": score.bad.total_seconds(),
        "tested_seconds": score.total.total_seconds(),
        "open": score.open,
    }


def _share(value: float | None, mark: str = "") -> str:
    return "–" if value is None else f"{value:.2%}{mark}"
