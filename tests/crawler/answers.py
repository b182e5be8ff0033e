"""Look-up, query, gate and pages must say the same of a dataset."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from django.db.models import Max, Min
from django.test import Client
from django.utils.html import escape

from alerting.models import Standing
from assay.models import Dataset
from incident_manager.models import Report, SpoiltWindow

WORST_FIRST = ("bad", "unknown", "reported", "untested", "good")
NOT_YET = ("not there yet", "not judged yet")  # a strict gate blocks what nobody has judged, also before it is due
PILL = r"<span class=\"pill [^>]*>(?:<svg.*?</svg>)?([^<]+)</span>"
HEADLINE = re.compile(rf"<h1>[^<]*{PILL}", re.DOTALL)
ROW = re.compile(
    rf"<th scope=\"row\">(?:(?!</th>).)*</th>\s*<td class=\"stands\">{PILL}", re.DOTALL
)  # of a dataset, up to its status


def disagreements(client: Client, pages: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """Where two of them differ about a dataset; ``pages`` were asked for just now, by address.

    Where they hold the whole catalogue, its rows say where a dataset is listed; else each of its filters does.
    """
    asked = _rows(pages["/"]) if "/" in pages else {status: _matrix(client, status) for status in WORST_FIRST}
    matrix = dict.fromkeys(WORST_FIRST, "") | asked
    for dataset in Dataset.objects.order_by("pk"):
        if window := _span(dataset):
            yield from _of(client, dataset, matrix, pages, *window)


def _span(dataset: Dataset) -> tuple[str, str] | None:
    """From the first to the last window that anything is known of."""
    rows = (
        Standing.objects.filter(data_test__dataset=dataset),
        SpoiltWindow.objects.filter(dataset=dataset),
        Report.objects.filter(dataset=dataset),
    )
    found = [each.aggregate(start=Min("window_start"), end=Max("window_end")) for each in rows]
    starts, ends = [each["start"] for each in found if each["start"]], [each["end"] for each in found if each["end"]]
    return (min(starts).isoformat(), max(ends).isoformat()) if starts and ends else None


def _of(
    client: Client, dataset: Dataset, matrix: Mapping[str, str], pages: Mapping[str, str], start: str, end: str
) -> Iterator[str]:
    name, address = dataset.full_name, f"/datasets/{dataset.full_name}"
    asked = {"dataset": name, "from": start, "to": end}
    look_up = client.get("/api/v1/quality", asked).json()
    queried = client.post(
        "/api/v1/quality/query",
        {"sql": f"select 1 from `{dataset.namespace}`.`{dataset.name}`", "from": start, "to": end},
        content_type="application/json",
    ).json()
    gate = client.post(
        "/api/v1/gate", {"datasets": [name], "window": f"{start}/{end}"}, content_type="application/json"
    ).json()
    if queried["status"] != look_up["status"]:
        yield f"{name}: the query says {queried['status']}, the look-up {look_up['status']}"
    is_blocked = any(each["decision"] == "block" and not each["text"].startswith(NOT_YET) for each in gate["reasons"])
    if is_blocked and look_up["status"] in ("good", "untested"):
        yield f"{name}: the gate blocks, and the look-up says {look_up['status']}: {gate['reasons'][:2]}"
    if gate["decision"] == "allow" and look_up["status"] == "bad" and dataset.gate_on != "incident":
        yield f"{name}: the gate allows, and the look-up says bad: {look_up['reasons'][:2]}"
    shown = _headline(pages.get(address) or client.get(address).content.decode())
    if shown not in WORST_FIRST:
        return  # the page itself is wrong, which is told by whoever asks for it
    if shown == "good" and is_blocked:
        yield f"{name}: its page says good, and the gate blocks: {gate['reasons'][:2]}"
    if WORST_FIRST.index(shown) > WORST_FIRST.index(look_up["status"]) and look_up["status"] in ("bad", "unknown"):
        yield f"{name}: its page says {shown}, and the look-up {look_up['status']}: {look_up['reasons'][:2]}"
    link = f'<a href="{escape(address)}">'
    listed = [status for status in WORST_FIRST if link in matrix[status]]
    if listed != [shown]:
        yield f"{name}: its page says {shown}, and the catalogue lists it under {listed}"


def _matrix(client: Client, status: str) -> str:
    return client.get("/", {"status": status, "whose": "all"}, headers={"HX-Request": "true"}).content.decode()


def _rows(catalogue: str) -> dict[str, str]:
    """The rows of the whole catalogue by the status that they show."""
    rows: dict[str, str] = {}
    for row in ROW.finditer(catalogue):
        rows[row[1].lower()] = rows.get(row[1].lower(), "") + row[0]
    return rows


def _headline(page: str) -> str:
    """The status beside the name of the dataset."""
    found = HEADLINE.search(page)
    return found[1].lower() if found else "none"
