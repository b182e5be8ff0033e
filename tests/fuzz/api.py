"""Requests that schemathesis makes of our own schema, half of them about what is really there, and what is wrong with
the answers."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
ERROR = {"type", "title", "status", "detail", "instance", "where", "mend", "error"}
MOST_WAIT = 0.01  # seconds; a pipeline may ask for 300
TEXTS = ["", "a", "é", "🚕", "a" * 10_000, "' or 1=1 --", "../../etc/passwd", "${env:HOME}", "<b>", "2026-03-09", "{}"]
WINDOWS = ["2026-03-09", "2026-03-08T00:00Z/2026-03-10T00:00Z", "0001-01-01", "9999-12-31", "2026-02-30", "x/y"]
QUERIES = [
    "select * from mart.trip_fares where datestr = '2026-03-09'",
    "select 1; drop table mart.trip_fares",
    "with a as (select * from raw.trips) insert into raw.trips select * from a",
    "select " + "(" * 300 + "1" + ")" * 300,
    "select '",
]
ASSERTIONS = [
    "row_count() > 0",
    "mean(fare) between 1 and 2",
    "completeness(fare, where=\"x = 'y'\") > 1 %",
    "1/0 = ((",
]

# of bodies that the schema only calls objects
EVENT: dict[str, Any] = {
    "eventType": "COMPLETE",
    "eventTime": "2026-03-10T01:00:00Z",
    "run": {"runId": "0195812e-64c8-7a90-8b1e-3f1b7a3c2d10"},
    "job": {"namespace": "etl", "name": "load_trips"},
    "inputs": [{"namespace": "raw", "name": "trips"}],
    "outputs": [{"namespace": "mart", "name": "trip_fares"}],
    "producer": "https://example.com/etl",
}
DATASET: dict[str, Any] = {
    "owner": "ada",
    "tier": 2,
    "columns": {"id": "bigint", "datestr": "date"},
    "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "/lake/new"}],
}
BODIES = {"POST /api/v1/lineage": EVENT, "PUT /api/v1/datasets/{name}": DATASET}

Case = Any  # schemathesis' own, whose parts are untyped


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is really there: values by the names that parameters and fields have for them."""

    values: Mapping[str, list[Any]]

    def mended(self, value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
        """The value, with some of what bears such a name replaced."""
        if isinstance(value, dict):
            return {name: self._field(name, inside, draw) for name, inside in value.items()}
        return [self.mended(each, draw) for each in value] if isinstance(value, list) else value

    def _field(self, name: str, inside: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
        if name in self.values and draw(st.integers(0, 7)):
            one = draw(st.sampled_from(self.values[name]))
            return [one] if isinstance(inside, list) else one
        return self.mended(inside, draw)


@dataclass
class Tally:
    """What was asked and how it ended."""

    ends: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of requests."""
        return sum(self.ends.values())

    def note(self, operation: str, case: Case, status: int, wrong: list[str]) -> None:
        """Count an answer, and keep one example of each thing that is wrong."""
        self.ends[operation, status] += 1
        for text in wrong:
            key = operation, text.splitlines()[0][:160]
            self.faults.setdefault(key, f"{text[:800]}\n{case.as_curl_command()[:1500]}")


@st.composite
def cases(draw: Callable[[st.SearchStrategy[Any]], Any], operation: Any, mode: GenerationMode, known: Known) -> Case:
    """A request of one operation."""
    case = draw(operation.as_strategy(generation_mode=mode))
    if operation.label in BODIES and draw(st.booleans()):
        case.body = _with_one_changed(BODIES[operation.label], draw)
    if mode is GenerationMode.POSITIVE or draw(st.booleans()):
        for part in ("path_parameters", "query", "body"):
            setattr(case, part, known.mended(getattr(case, part), draw))
    if isinstance(case.body, dict) and isinstance(case.body.get("wait"), int | float):
        case.body["wait"] = min(case.body["wait"], MOST_WAIT)
    return case


def _with_one_changed(body: dict[str, Any], draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[str, Any]:
    """The body, mostly with something else in one place."""
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
        max_leaves=5,
    )
    if draw(st.integers(0, 3)) == 0:
        return body
    return {**body, draw(st.sampled_from(sorted(body))): draw(anything)}


def fuzz(*, requests: int, known: Known, headers: Callable[[], dict[str, str]], start: int) -> Tally:
    """Ask so many, shared among all operations, in good faith and in bad."""
    schema, tally = schemathesis.openapi.from_wsgi("/api/schema?format=json", get_wsgi_application()), Tally()
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    while (missing := requests - tally.count) > 0:  # some cannot be asked in bad faith: others are asked again
        each, seed_of_round = -(-missing // (2 * len(operations))), start + tally.count
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                _repeat(cases(operation, mode, known), each, seed_of_round, lambda case: _ask(case, tally, headers()))
    return tally


def _repeat(made: st.SearchStrategy[Case], count: int, start: int, ask: Callable[[Case], None]) -> None:
    quiet = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seed(start)
    @quiet
    @given(made)
    def once(case: Case) -> None:
        ask(case)

    with suppress(Unsatisfiable):  # of an operation without parameters nothing can be asked in bad faith
        once()


def _ask(case: Case, tally: Tally, headers: dict[str, str]) -> None:
    answer = case.call(headers=headers)
    tally.note(case.operation.label, case, answer.status_code, list(_wrong(case, answer)))


def _wrong(case: Case, answer: Any) -> list[str]:
    found = []
    try:
        case.validate_response(answer, checks=CHECKS)
    except (Failure, FailureGroup) as failure:
        inside = failure.exceptions if isinstance(failure, FailureGroup) else [failure]
        found += [f"{type(each).__name__}: {each}" for each in inside]
    is_ours = "/api/" in str(answer.request.url)  # else dots led out of it
    if is_ours and 400 <= answer.status_code < 500 and _named(answer) != ERROR:
        found.append(f"{answer.status_code} in another shape: {answer.text[:200]}")
    return found


def _named(answer: Any) -> set[str] | None:
    try:
        said = answer.json()
    except ValueError:
        return None
    return set(said) if isinstance(said, dict) else None
