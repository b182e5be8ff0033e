"""A chart becomes a PNG on a machine that has neither a font nor a library of graphics."""

import struct
import zlib
from datetime import UTC, datetime, timedelta

import pytest

from assay.charts.drawing import Chart, Point, draw
from assay.charts.picture import picture_of

SIZE = 600, 240
POINTS = [Point(at=datetime(2026, 3, 1 + day, tzinfo=UTC), value=100.0 + day, low=104.0) for day in range(9)]


def decoded(png: bytes) -> tuple[tuple[int, int], bytes]:
    """The size of a PNG, and its rows."""
    chunks: dict[bytes, bytes] = {}
    place = 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        chunks[kind] = chunks.get(kind, b"") + png[place + 8 : place + 8 + length]
        place += length + 12
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    return (width, height), zlib.decompress(chunks[b"IDAT"])


def svg(title: str, points: list[Point]) -> str:
    width, height = SIZE
    return draw(Chart(title=title, points=points), key="it", width=width, height=height, is_picture=True)


@pytest.mark.parametrize("zoom", [1.0, 2.0])
def test_a_picture_has_its_size_and_is_not_blank(zoom: float) -> None:
    size, rows = decoded(picture_of(svg("rows of raw.trips", POINTS), zoom=zoom))
    assert size == (SIZE[0] * zoom, SIZE[1] * zoom)
    assert len(rows) >= size[0] * size[1]
    assert len(set(rows)) > 20


def test_its_words_are_drawn() -> None:
    _, without = decoded(picture_of(svg("", POINTS)))
    _, with_title = decoded(picture_of(svg("rows of raw.trips", POINTS)))
    assert without != with_title


def test_what_is_no_svg_is_refused() -> None:
    with pytest.raises(ValueError, match="root"):
        picture_of("<svg")


def test_a_chart_without_a_value_is_a_picture_too() -> None:
    at = POINTS[0].at
    empty = [Point(at=at + timedelta(days=day), value=None) for day in range(3)]
    assert decoded(picture_of(svg("nothing", empty), zoom=1.0))[0] == SIZE
