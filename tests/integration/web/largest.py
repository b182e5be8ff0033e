"""The largest request that each endpoint takes, one that is a step larger, and what it may cost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from assay.access import TokenScope
from assay.catalog.openlineage import MOST_DATASETS
from assay.catalog.place_limits import MOST
from assay.catalog.proposals import note_queried
from assay.models import Dataset
from incident_manager.backtests.services import MOST_WINDOWS as MOST_BACKTESTED
from incident_manager.gate.services import LONGEST_NAME, MOST_OUTPUTS
from test_generator.onboarding import MOST_OF_A_REQUEST
from test_generator.pushed_rules import MOST_SHOWN
from tests.factories import DAY, HOUR, NOW, day
from tests.integration.web.estate import Estate, body
from web.api.base import Pages
from web.api.feeds import EXPORTS
from web.api.gate import GateQuestion
from web.api.quality import MOST_LOOK_UPS, MOST_RANGES
from web.api.runs import MOST_TESTS
from web.sql.tables import MOST_WORDS

ALWAYS = {"from": "1900-01-01T00:00:00Z", "to": "2199-12-31T00:00:00Z"}
LONG_TEXT, NAME = 10_000, LONGEST_NAME
MOST_ASKED = GateQuestion().fields["datasets"].max_length  # type: ignore[attr-defined]
EVERYWHERE = {"selector": {"names": ["*"]}}
PAGE = {"limit": Pages.max_limit}
USUAL_STATEMENTS, EACH_DATASET = 47, 25
WINDOWS = 300  # of the table that is asked for, all of them spoilt
# of a report: its incident and alert end, people are told, and what is asked of others is taken back
CLOSING: Any = {"written": 16, "statements": 100}  # MariaDB needs some more than SQLite, which gives rows back
ENDING: Any = {"written": 4 * WINDOWS, "statements": 8 * WINDOWS}  # each of its windows is judged anew
OF_A_ROW = (
    *("badges/{dataset}.svg", "data-tests/{test}", "datasets/{dataset}", "gate/overrides/{override}"),
    *("incidents/{incident}", "members/{member}", "pipelines/load/quality", "publications/{publication}"),
    *("quarantines/{quarantine}", "reports/{report}", "runs/{run}", "silences/{silence}", "suggestions/{suggestion}"),
    *("bindings/{binding}", "templates/{template}", "templates/library"),
)
LISTS_OF_A_DATASET = ("data-tests", "gate/overrides", "reports", "runs", "silences", "suggestions")
ENDINGS = ["auth/logout", "gate/overrides/{override}/end", "quarantines/{quarantine}/lift", "silences/{silence}/end"]


@dataclass(frozen=True, kw_only=True)
class Largest:
    """A request with what it may cost, and one that is refused; ``larger`` is None where nothing of it can grow."""

    sent: Any = field(default_factory=dict)
    larger: Any = None
    statements: int = USUAL_STATEMENTS
    written: int = 0  # rows, beside those of runs
    tables: int = 0  # that it names: ``raw.many_0`` and so on


def days(count: int) -> str:
    end = NOW.replace(hour=0)
    return f"{(end - count * DAY).isoformat()}/{end.isoformat()}"


def _somebody(name: str) -> str:
    """The name, which a user bears now."""
    return User.objects.create_user(name).username


def text(
    name: str, length: int = LONG_TEXT, *, written: int = 0, statements: int = USUAL_STATEMENTS, **more: Any
) -> Largest:
    sent, larger = {**more, name: "x" * length}, {**more, name: "x" * (length + 1)}
    return Largest(sent=sent, larger=larger, written=written, statements=statements)


def page(longest: str = "", length: int = NAME, **more: Any) -> Largest:
    """A list of a thousand rows, whose longest filter is a text; where it has none, a page of no rows is refused."""
    if longest:
        return text(longest, length, **PAGE, **more)
    return Largest(sent={**PAGE, **more}, larger={**more, "limit": 0})


def _look_ups(name: str, count: int) -> dict[str, Any]:
    """So many ranges, each of which lies apart, of the table and of many others."""
    names = [name if number % 2 else f"raw.many_{number // 2}" for number in range(count)]
    start = NOW.replace(hour=0) - 2 * count * DAY
    ranges_ = [(start + 2 * number * DAY, start + (2 * number + 1) * DAY) for number in range(count)]
    return {
        "look_ups": [
            {"dataset": own, "from": first.isoformat(), "to": last.isoformat()}
            for own, (first, last) in zip(names, ranges_, strict=True)
        ]
    }


def _names_of_tests(count: int) -> list[str]:
    return [f"test {number}" for number in range(count)]


def _query(words: int) -> dict[str, str]:
    return {"sql": f"select a{', a' * ((words - 5) // 2)} from raw.many_0"}


def _outputs(count: int, width: int) -> dict[str, Any]:
    return {"outputs": [{"dataset": f"raw.many_{number}", "window": days(width)} for number in range(count)]}


def _event(estate: Estate, datasets: int) -> dict[str, Any]:
    sent: dict[str, Any] = body("POST", "lineage", estate)
    return {**sent, "inputs": [{"namespace": "raw", "name": f"many_{number}"} for number in range(datasets - 1)]}


def _profile(estate: Estate, columns: int) -> dict[str, Any]:
    sent: dict[str, Any] = body("PUT", "datasets/{dataset}", estate)
    return {**sent, "columns": {"id": "bigint", "datestr": "string"} | {f"c{n}": "string" for n in range(columns)}}


def _business_metric(estate: Estate, length: int) -> dict[str, Any]:
    sent: dict[str, Any] = body("PUT", "business-metrics/{metric}", estate)
    return {**sent, "expression": "sum(fare)".ljust(length - 1) + "#"}


def _test(estate: Estate, length: int) -> dict[str, Any]:
    sent: dict[str, Any] = body("POST", "data-tests", estate)
    return {**sent, "assertion": _assertion(length)}


def _rule(estate: Estate, length: int) -> dict[str, Any]:
    sent: dict[str, Any] = body("POST", "templates", estate)
    return {**sent, "assertion": _assertion(length)}


def _binding(estate: Estate) -> dict[str, Any]:
    sent: dict[str, Any] = body("POST", "bindings", estate)
    return {name: value for name, value in sent.items() if name != "pipeline"}


def _backtest(estate: Estate, written: int = 0) -> Largest:
    """An assertion that nobody has measured yet, over as many days as there may be, of a table that is as old."""
    Dataset.objects.filter(pk=estate.dataset.pk).update(first_partition="")
    of_dataset = {"dataset": estate.dataset.full_name, "assertion": "max(id) >= 0", "to": NOW.isoformat()}
    start, earlier = (NOW.replace(hour=0) - count * DAY for count in (MOST_BACKTESTED - 1, MOST_BACKTESTED))
    return Largest(
        sent={**of_dataset, "from": start.isoformat()},
        larger={**of_dataset, "from": earlier.isoformat()},
        written=written,
        statements=2 * USUAL_STATEMENTS,
    )


def _onboarding(written: int = 0) -> Largest:
    """As many tables as a request may name, each of which becomes a dataset."""
    names = [f"asked.table_{number}" for number in range(MOST_OF_A_REQUEST + 1)]
    note_queried(names, now=NOW)
    fields = {"fields": {"owner": "me", "tier": 3, "location": "/sea/{table}"}}
    return Largest(
        sent={"names": names[:-1], **fields},
        larger={"names": names, **fields},
        statements=2 * EACH_DATASET * MOST_OF_A_REQUEST,
        written=written,
    )


def _assertion(length: int) -> str:
    return "row_count() >".ljust(length - 1) + "1"


def largest(estate: Estate) -> dict[tuple[str, str], Callable[[], Largest]]:
    """By method and address: every endpoint that the matrix of access knows."""
    name = estate.dataset.full_name
    of_dataset = {"dataset": name, **ALWAYS}
    silence: Any = {"dataset": name, "ends_at": (NOW + HOUR).isoformat()}
    report: Any = {"dataset": name, "window": f"{ALWAYS['from']}/{ALWAYS['to']}"}
    token = {"name": "x" * 100, "scopes": [scope.value for scope in TokenScope], "days": 1}
    until_now: Any = {**ALWAYS, "to": NOW.isoformat()}
    many = [f"raw.many_{number}" for number in range(MOST_ASKED)]
    return {
        **dict.fromkeys((("GET", address) for address in OF_A_ROW), Largest),
        **dict.fromkeys((("GET", address) for address in LISTS_OF_A_DATASET), lambda: page(dataset=name)),
        **dict.fromkeys((("POST", address) for address in ENDINGS), lambda: Largest(written=1)),
        ("PUT", "datasets/{dataset}/follow"): lambda: Largest(written=3),
        ("DELETE", "datasets/{dataset}/follow"): lambda: Largest(written=1),
        ("DELETE", "tokens/{token}"): lambda: Largest(written=1),
        ("POST", "incidents/{incident}/acknowledge"): lambda: Largest(written=2),
        ("POST", "incidents/{incident}/rerun"): lambda: Largest(written=2),
        ("POST", "suggestions/{rejected}/take-back"): lambda: Largest(written=3),
        ("GET", "audit"): lambda: page("actor", 200, **ALWAYS),
        ("GET", "backtest"): lambda: _backtest(estate),
        ("POST", "backtest"): lambda: _backtest(estate, written=2 * MOST_BACKTESTED + 2),
        ("GET", "business-metrics"): lambda: page("q", 300),
        ("GET", "business-metrics/{metric}"): lambda: Largest(statements=80),
        ("PUT", "business-metrics/{metric}"): lambda: Largest(
            sent=_business_metric(estate, 2048), larger=_business_metric(estate, 2049), written=4, statements=120
        ),
        ("GET", "calendar.ics"): lambda: text("owner", NAME),
        ("GET", "columns"): lambda: page("text", 300, dataset=name),
        ("GET", "search"): lambda: text("q", 200),
        ("GET", "coverage"): lambda: text("owner", NAME),
        ("GET", "vital-signs"): lambda: page("q", 300),
        ("POST", "data-tests"): lambda: Largest(sent=_test(estate, 4096), larger=_test(estate, 4097), written=4),
        ("PATCH", "data-tests/{test}"): lambda: Largest(
            sent={"assertion": _assertion(4096)}, larger={"assertion": _assertion(4097)}, written=3
        ),
        ("DELETE", "data-tests/{test}"): lambda: Largest(written=2, statements=600),
        ("GET", "datasets"): lambda: page("q", 300),
        ("PUT", "datasets/{dataset}"): lambda: Largest(  # with the name of each column, for the search
            sent=_profile(estate, 10_000), written=10_004, statements=110
        ),
        ("PATCH", "datasets/{dataset}"): lambda: Largest(  # of all columns
            sent={"columns": _profile(estate, 10_000)["columns"]}, written=10_005, statements=120
        ),
        **dict.fromkeys(
            (("GET", f"exports/{each}") for each in EXPORTS),
            lambda: Largest(sent=of_dataset, larger={**of_dataset, "to": "2200-01-02T00:00:00Z"}),
        ),
        ("POST", "gate"): lambda: Largest(
            sent={"datasets": many, "window": days(MOST)},
            larger={"datasets": [*many, name], "window": days(1)},
            tables=MOST_ASKED,
        ),
        ("POST", "gate/overrides"): lambda: text("reason", written=5, dataset=name, window="2026-03-09"),
        ("GET", "incidents"): lambda: page("owner"),
        ("POST", "incidents/{incident}/accept"): lambda: text("reason", **ENDING),
        ("POST", "incidents/{incident}/annotations"): lambda: text("root_cause", written=2, backfill="x" * 200),
        ("POST", "incidents/{incident}/assign"): lambda: Largest(
            sent={"to": _somebody("x" * 128)}, larger={"to": "x" * 129}, statements=64, written=6
        ),
        ("POST", "incidents/{incident}/force-resolve"): lambda: text("reason", **ENDING, scope="test"),
        ("POST", "deploys"): lambda: text("version", 200, written=2, pattern="*"),
        ("GET", "lineage"): lambda: Largest(sent={"dataset": name}),
        ("POST", "lineage"): lambda: Largest(
            sent=_event(estate, MOST_DATASETS), larger=_event(estate, MOST_DATASETS + 1),
            written=3 * MOST_DATASETS + 5,  # an edge, and what events tell of it and of its upstream
            statements=EACH_DATASET * MOST_DATASETS, tables=MOST_DATASETS,
        ),
        ("GET", "measurements"): lambda: page("metric", 4096),
        ("GET", "members"): lambda: page(),
        ("PUT", "members/{member}"): lambda: Largest(
            sent={"teams": [f"{n:0200}" for n in range(100)]}, larger={"teams": ["x"] * 101}, written=1
        ),
        ("GET", "pipelines/load/completed"): lambda: Largest(larger={"completions": "1" * 1001}),
        ("POST", "pipelines/load/completed"): lambda: Largest(
            sent=_outputs(MOST_OUTPUTS, MOST),
            larger=_outputs(MOST_OUTPUTS + 1, 1),
            written=MOST_OUTPUTS + 1,
            statements=USUAL_STATEMENTS + 4 * MOST_OUTPUTS,
            tables=MOST_OUTPUTS + 1,
        ),
        ("POST", "onboarding"): lambda: _onboarding(written=4 * MOST_OF_A_REQUEST + 1),
        ("POST", "onboarding/preview"): _onboarding,
        ("GET", "proposals"): lambda: Largest(sent={"limit": 1000}, larger={"limit": 1001}),
        ("GET", "publications"): lambda: page("partition", 100, dataset=name),
        ("GET", "quality"): lambda: Largest(
            sent=of_dataset, larger={**of_dataset, "to": "2200-01-02T00:00:00Z"}, written=1
        ),
        ("POST", "quality/bulk"): lambda: Largest(
            sent=_look_ups(name, MOST_LOOK_UPS), larger=_look_ups(name, MOST_LOOK_UPS + 1), written=MOST_LOOK_UPS,
            statements=EACH_DATASET * 8, tables=MOST_LOOK_UPS // 2,
        ),
        ("POST", "quality/query"): lambda: Largest(
            sent=_query(MOST_WORDS), larger=_query(MOST_WORDS + 2), written=MOST_RANGES, tables=1
        ),
        ("GET", "quarantines"): lambda: page(),
        ("POST", "reports"): lambda: text("description", written=10, statements=60, **report),
        ("POST", "reports/{report}/confirm"): lambda: Largest(written=5),
        ("POST", "reports/{report}/fix"): lambda: Largest(**CLOSING),
        ("POST", "reports/{report}/join"): lambda: Largest(sent={"incident": estate.names["incident"]}, **CLOSING),
        ("POST", "reports/{report}/reject"): lambda: text("reason", **CLOSING),
        ("POST", "runs"): lambda: text(
            "key", 60, written=2, data_test=estate.names["test"], window=day("2026-03-09").text
        ),
        ("GET", "runs/bulk"): lambda: Largest(
            sent={"dataset": name, "last": MOST}, larger={"dataset": name, "last": MOST + 1}
        ),
        ("POST", "runs/bulk"): lambda: Largest(
            sent={"dataset": name, "window": "2026-03-09", "tests": _names_of_tests(MOST_TESTS)},
            larger={"dataset": name, "window": "2026-03-09", "tests": _names_of_tests(MOST_TESTS + 1)}, written=2,
        ),
        ("GET", "scores"): lambda: text("owner", NAME, **until_now),
        ("POST", "silences"): lambda: text("reason", written=2, **silence),
        ("POST", "suggestions"): lambda: Largest(sent={"dataset": name}, written=3),
        ("GET", "suggestions/reading"): lambda: Largest(sent={"dataset": name}),
        ("POST", "suggestions/{suggestion}/accept"): lambda: Largest(written=5),
        ("POST", "suggestions/{suggestion}/reject"): lambda: text("reason", 1000, written=3),
        ("GET", "templates"): page,
        ("POST", "templates"): lambda: Largest(sent=_rule(estate, 4096), larger=_rule(estate, 4097), written=2),
        ("POST", "templates/preview"): lambda: Largest(
            sent=_rule(estate, 4096) | EVERYWHERE, larger=_rule(estate, 4097), statements=EACH_DATASET * MOST_SHOWN,
            tables=2 * MOST_SHOWN,
        ),
        ("PATCH", "templates/{template}"): lambda: Largest(
            sent={"assertion": _assertion(4096)}, larger={"assertion": _assertion(4097)}, written=1
        ),
        ("DELETE", "templates/{template}"): lambda: Largest(written=1),
        ("GET", "bindings"): lambda: page("pipeline", 200),
        ("POST", "bindings"): lambda: text("pipeline", 200, written=2, **_binding(estate)),
        ("PATCH", "bindings/{binding}"): lambda: Largest(sent={"gate": "strong"}, larger={"gate": "x"}, written=1),
        ("DELETE", "bindings/{binding}"): lambda: Largest(written=1),
        ("GET", "tokens"): lambda: page("user", 150),
        ("POST", "tokens"): lambda: Largest(sent=token, larger={**token, "name": "x" * 101}, written=2),
    }  # fmt: skip
