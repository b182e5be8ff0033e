"""The client: each method asks one thing of Assay."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

from .answers import CompletedAnswer, Dataset, GateAnswer, Incident, Lineage, Quality, QueryQuality, Report
from .transport import AssayError, Patience, Transport, Unavailable

T = TypeVar("T")
Instant = datetime | str  # a datetime knows its zone; a text is ISO 8601
Range = str | tuple[Instant, Instant]  # START/END in ISO 8601, a partition's key, or both instants

PAGE = 200  # rows of one request
FIRST_LOOK, SLOWER, LONGEST_LOOK = 1.0, 1.5, 30.0  # seconds between two questions of one that waits, and how they grow


@dataclass(frozen=True)
class Output:
    """A window that a pipeline wrote. ``rows`` are those of this run; ``mode`` is ``append`` or ``overwrite``."""

    dataset: str
    window: Range
    datacenter: str = ""
    rows: int | None = None
    mode: str = ""

    @property
    def body(self) -> dict[str, Any]:
        """As the API takes it."""
        fields = _drop_empty(datacenter=self.datacenter, rows=self.rows, mode=self.mode)
        return {"dataset": self.dataset, "window": window_text(self.window), **fields}


class AssayClient:
    """Asks one server; use it in a ``with`` block, or ``close`` it. One client serves one thread at a time.

    ``url`` and ``token`` default to ASSAY_URL and ASSAY_TOKEN. ``timeout`` are the seconds that one request may take.
    A request that fails for a while (no connection, 429, 502, 503, 504) is sent up to ``retries`` times more, each
    time later, or when the server says; what must not be done twice is not sent again once the server may have it.
    Every method raises AssayError: NotAllowed, NotFound, BadRequest or Unavailable.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0, retries: int = 4
    ) -> None:
        url = os.environ.get("ASSAY_URL", "") if url is None else url
        if not url.strip():
            raise AssayError("Nobody says where Assay is.", mend="Give url=, or set ASSAY_URL.")
        self.url = url.strip().rstrip("/")
        token = os.environ.get("ASSAY_TOKEN", "") if token is None else token
        self._transport = Transport(self.url, token.strip(), timeout=timeout, patience=Patience(retries=retries))

    def __enter__(self) -> "AssayClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"AssayClient({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def quality(self, dataset: str, start: Instant, end: Instant, *, datacenter: str = "") -> Quality:
        """May data from ``start`` up to ``end`` be used? Of the copy at home, if no datacenter is named."""
        query = {"dataset": dataset, "from": instant_text(start), "to": instant_text(end)}
        return Quality.of(self._transport.send("GET", "quality", query=query | _drop_empty(datacenter=datacenter)))

    def query_quality(
        self, sql: str, *, start: Instant | None = None, end: Instant | None = None, datacenter: str = ""
    ) -> QueryQuality:
        """May all that a query reads be used? The SQL is Spark's; ``start`` and ``end`` bound tables read in whole."""
        bounds = {name: instant_text(at) for name, at in (("from", start), ("to", end)) if at is not None}
        body = {"sql": sql, **bounds, **_drop_empty(datacenter=datacenter)}
        return QueryQuality.of(self._transport.send("POST", "quality/query", body=body))

    def gate(
        self, datasets: str | Sequence[str], window: Range, *, datacenter: str = "", pipeline: str = ""
    ) -> GateAnswer:
        """May a pipeline read these datasets, or use these business metrics, over a window?

        What has ended and was never judged is tested now: ask again a little later, as ``wait_for_gate`` does.
        """
        body = {
            "datasets": [datasets] if isinstance(datasets, str) else list(datasets),
            "window": window_text(window),
            **_drop_empty(datacenter=datacenter, pipeline=pipeline),
        }
        return GateAnswer.of(self._transport.send("POST", "gate", body=body))

    def wait_for_gate(
        self,
        datasets: str | Sequence[str],
        window: Range,
        *,
        timeout: float,
        datacenter: str = "",
        pipeline: str = "",
    ) -> GateAnswer:
        """The first answer that does not block, or after ``timeout`` seconds the last one, which blocks.

        It asks after 1 s and then ever less often, down to every 30 s. That Assay cannot be reached is waited out too;
        raises Unavailable where it still is so at the end.
        """
        return _repeated(
            lambda: self.gate(datasets, window, datacenter=datacenter, pipeline=pipeline),
            until=lambda answer: not answer.blocks,
            timeout=timeout,
        )

    def completed(
        self, pipeline: str, outputs: Sequence[Output | Mapping[str, Any]], *, run: str = "", wait: float = 0
    ) -> CompletedAnswer:
        """Tell that a pipeline has written its outputs, so that their tests run; with ``wait`` seconds, wait for these.

        Name the ``run`` where outputs tell their rows: they count once, so the request may be sent again.
        """
        body: dict[str, Any] = {
            "outputs": [output.body if isinstance(output, Output) else dict(output) for output in outputs]
        }
        body |= _drop_empty(run=run)
        response = self._transport.send("POST", _completed(pipeline), body=body, is_repeatable=bool(run))
        answer = CompletedAnswer.of(response)
        if answer.judged or wait <= 0:
            return answer
        return _repeated(
            lambda: self.completion(pipeline, answer.completions), until=lambda answer: answer.judged, timeout=wait
        )

    def completion(self, pipeline: str, completions: Sequence[int] = ()) -> CompletedAnswer:
        """The answer by now on what was completed before; on the newest of each dataset where none is numbered."""
        query = {"completions": ",".join(map(str, completions))} if completions else None
        return CompletedAnswer.of(self._transport.send("GET", _completed(pipeline), query=query))

    def report(
        self,
        dataset: str,
        window: tuple[Instant, Instant] | str,
        description: str,
        *,
        saw: str | None = None,
        datacenter: str = "",
    ) -> Report:
        """Say that data is bad; its owner is told. ``window`` is START/END.

        ``saw`` is one of: late, rows missing, rows twice, copies differ, values wrong, something else.
        """
        body = {"dataset": dataset, "window": window_text(window), "description": description}
        body |= _drop_empty(saw=saw, datacenter=datacenter)
        return Report.of(self._transport.send("POST", "reports", body=body, is_repeatable=False))

    def incidents(
        self,
        *,
        dataset: str | None = None,
        category: str | None = None,
        owner: str | None = None,
        tier: int | None = None,
        is_open: bool | None = None,
    ) -> Iterator[Incident]:
        """The incidents that match, the newest first; pages are read as they are needed."""
        filters = {"dataset": dataset, "category": category, "owner": owner, "tier": tier, "open": is_open}
        last: int | None = None
        for row in self._rows("incidents", filters):
            incident = Incident.of(row)
            if (
                last is None or incident.id < last
            ):  # one that opens meanwhile moves those that were read to the next page
                last = incident.id
                yield incident

    def datasets(
        self, *, q: str | None = None, tier: int | None = None, owner: str | None = None, team: str | None = None
    ) -> Iterator[Dataset]:
        """The datasets that match, by name; ``q`` is a part of it."""
        yield from map(Dataset.of, self._rows("datasets", {"q": q, "tier": tier, "owner": owner, "team": team}))

    def lineage(self, dataset: str) -> Lineage:
        """What a dataset is made of and what is made of it, with the columns of each edge and who tells of it."""
        return Lineage.of(self._transport.send("GET", "lineage", query={"dataset": dataset}))

    def _rows(self, path: str, filters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        query, offset = _drop_empty(**filters), 0
        while True:
            page = self._transport.send("GET", path, query={**query, "limit": PAGE, "offset": offset})
            yield from page["results"]
            offset += len(page["results"])
            if not page.get("next") or not page["results"]:
                return


def instant_text(at: Instant) -> str:
    """An instant in ISO 8601; raises ValueError for a datetime that does not know its zone."""
    if isinstance(at, str):
        return at
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone: write datetime(…, tzinfo=timezone.utc)")
    return at.isoformat()


def window_text(window: Range) -> str:
    """A window as the API takes it; raises ValueError like ``instant_text``."""
    return window if isinstance(window, str) else "/".join(map(instant_text, window))


def _drop_empty(**values: Any) -> dict[str, Any]:
    """Those that say something: the API takes no empty text for one that is left out."""
    return {name: value for name, value in values.items() if value not in (None, "")}


def _completed(pipeline: str) -> str:
    return f"pipelines/{quote(pipeline, safe='')}/completed"


def _repeated(ask: Callable[[], T], *, until: Callable[[T], bool], timeout: float) -> T:
    """The first answer that is as wanted, else the last one within so many seconds."""
    end, pause = time.monotonic() + timeout, FIRST_LOOK
    while True:
        is_last = time.monotonic() >= end
        try:
            answer = ask()
        except Unavailable:
            if is_last:
                raise
        else:
            if is_last or until(answer):
                return answer
        time.sleep(max(0.0, min(pause, end - time.monotonic())))
        pause = min(LONGEST_LOOK, pause * SLOWER)
