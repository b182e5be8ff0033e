"""``assay plan``: what a sync would change."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from assay import clock
from assay.catalog.services import UnableToApply
from assay.catalog.tellings import UnableToReadSource
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from execution_engine.providers import read_provider
from test_generator.services import UnableToWrite, plan_telling, provider_named
from test_generator.sync import plan

from .sync import SHOWN, print_left_out

NAMED = 3  # datasets of those that are not testable for one reason
STYLES = {"+": Style(color="green"), "~": Style(color="yellow"), "-": Style(color="red")}


class Command(Base):
    """A sync that is rolled back."""

    help = (
        "Show, as a diff, the datasets, lineage and tests that `assay sync` would add, change and remove, and which "
        "standard tests it cannot write. Exit 1 if `assay sync` would refuse, as it would remove too many datasets."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The file or folder, or the provider."""
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("path", nargs="?", type=Path, help="the catalog: a file, or a folder of *.yaml files")
        what.add_argument("--provider", metavar="NAME", help="a provider of ASSAY_PROVIDERS, read now")
        parser.add_argument(
            "--source", default="", metavar="NAME", help="the name of the source (default: by its path)"
        )

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """What comes, changes and goes; nothing is kept."""
        try:
            if options["provider"]:
                provider = provider_named(options["provider"], options["source"])
                planned = plan_telling(read_provider(provider), provider, now=clock.now())
            else:
                planned = plan(options["path"], name=options["source"], now=clock.now())
        except (UnableToReadSource, UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
            raise UnableToRun(str(error)) from None
        return (ExitCode.FAILED if planned.refused else ExitCode.HELD), {
            "source": planned.source,
            "changes": [dict(vars(difference)) for difference in planned.differences],
            "gaps": [dict(vars(gap)) for gap in planned.gaps],
            "refused": planned.refused,
            "left_out": list(planned.left_out),
        }

    def show(self, console: Console, result: Any) -> None:
        """The diff, one line for each thing and one for each field that changes, and then the gaps by their reasons."""
        console.print(Segments(Segment(*line) for line in _lines(result)), soft_wrap=True, end="")
        print_left_out(console, result["left_out"])
        counts = ", ".join(f"{sum(row['sign'] == sign for row in result['changes'])} {sign}" for sign in STYLES)
        console.print(f"source {result['source']}: {counts}; what is removed is retired after a day", highlight=False)
        if result["refused"]:
            refusal = f"`assay sync` would refuse this without --allow-removal: {result['refused']}"
            console.print(refusal, style="red", soft_wrap=True, highlight=False, markup=False)


def _lines(result: Any) -> Iterator[tuple[str, Style | None]]:
    """Each line with its style; rich would take a minute to wrap and highlight those of a large catalog."""
    for change in result["changes"]:
        yield f"{change['sign']} {change['kind']:<7} {change['name']}\n", STYLES[change["sign"]]
        lines = [f"{name}: {old or '(none)'} → {new or '(none)'}" for name, (old, new) in change["fields"].items()]
        if change["sign"] == "+":  # of what comes only the assertion: its file says the rest
            lines = [change["fields"]["assertion"][1]] if "assertion" in change["fields"] else []
        yield from ((f"      {line}\n", None) for line in lines)
    yield from ((f"{line}\n", None) for line in _gap_lines(result["gaps"]))


def _gap_lines(gaps: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is not testable: a line for each test and reason, those first that most datasets share."""
    datasets_by_reason = defaultdict[tuple[str, str], list[str]](list)
    for gap in gaps:
        what = f"template {gap['template']!r}" if gap["template"] else gap["category"]
        datasets_by_reason[what, gap["reason"]].append(gap["dataset"])
    lines = [
        f"not testable: {_list_names(names)}, {what}: {reason}"
        for (what, reason), names in sorted(datasets_by_reason.items(), key=lambda pair: -len(pair[1]))
    ]
    is_whole = len(lines) <= SHOWN and all(len(names) <= NAMED for names in datasets_by_reason.values())
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"not testable: {len(lines) - SHOWN} more tests and reasons"]
    return lines if is_whole else [*lines, "--json names all that is not testable"]


def _list_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - NAMED
    return f"{', '.join(names[:NAMED])}{f' and {more} more' if more > 0 else ''}"
