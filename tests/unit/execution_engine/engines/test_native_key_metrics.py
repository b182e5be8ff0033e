"""Metrics of keys of small files, told without Spark, are what sets of Python and xxhash make of the same rows."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from hashlib import blake2b
from operator import xor
from pathlib import Path
from random import Random
from struct import pack
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native import key_metrics as measures
from execution_engine.engines.native.key_metrics import OF_KEYS, KeyReader, counted_by_filters
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import Measured, MeasurementRequest, Table
from execution_engine.metrics.definitions.sample import Sample
from execution_engine.metrics.keys import filter_shape
from execution_engine.metrics.keys.bits import no_bits
from execution_engine.metrics.keys.digest import Buckets, KeyDigest
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.metrics.keys.filter import KeyFilter, filter_of_parts
from execution_engine.metrics.keys.filter_shape import Format, Loss, shape_for
from execution_engine.metrics.keys.key_text import encode
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Failure, Reason
from tests.unit.execution_engine.engines.key_hash import key_hash, rank

KEY = b"of both datacenters"
Take = Callable[..., Measured]  # a metric of the table: its name, its columns, and what it is given


@pytest.fixture
def side(tmp_path: Path) -> Callable[..., Take]:
    """Writes the table ``trips`` of one datacenter, and gives who measures it."""

    def written(name: str = "here", **columns: Any) -> Take:
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=100)

        def take(
            metric: str,
            *of: str,
            arguments: tuple[Literal, ...] = (),
            inputs: Mapping[str, bytes] | None = None,
            where: str | None = None,
            state_key: bytes | None = None,
            **options: Literal,
        ) -> Measured:
            spec = MetricSpec(name=metric, columns=of, arguments=arguments, options=tuple(options.items()), where=where)
            item = MeasurementRequest(key="k", spec=spec, inputs=inputs or {}, state_key=state_key)
            report = report_without_spark(Table(name="trips", storage="parquet", location=str(folder)), [item])
            assert report is not None
            return report.measured["k"]

        return take

    return written


def state_of(measured: Measured) -> bytes:
    assert measured.state is not None
    return measured.state


def failure_of(measured: Measured) -> Failure:
    assert measured.failure is not None
    return measured.failure


def in_buckets(hashes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Of each bucket how many hashes it has, and their exclusive or and sum."""
    held: list[list[int]] = [[] for _ in range(4096)]
    for each in hashes:
        held[each >> 52].append(each)
    return [(len(some), reduce(xor, some, 0), sum(some) % 2**64) for some in held]


@pytest.mark.parametrize(("where", "least"), [(None, 0), ("n >= 150", 150), ("n < 0", 400)])
def test_a_digest_tells_of_each_bucket_how_many_keys_it_has_and_what_these_are(
    side: Callable[..., Take], where: str | None, least: int
) -> None:
    texts = [None if at % 7 == 0 else f"text {at % 90}" for at in range(400)]
    taken = side(a=[at % 5 for at in range(400)], b=texts, n=range(400))("key_digest", "a", "b", where=where)
    keys = {(str(at % 5), texts[at]) for at in range(least, 400)}
    expected = in_buckets([key_hash(key) for key in keys])
    digest = KeyDigest.from_bytes(state_of(taken))
    assert list(map(tuple, digest.words.tolist())) == expected
    assert (digest.columns, digest.rows, taken.value) == (("a", "b"), 400 - least, len(keys))
    fingerprint = blake2b(b"".join(pack("<3Q", *words) for words in expected), digest_size=16).hexdigest()
    assert taken.detail == {"rows": 400 - least, "keys": len(keys), "fingerprint": fingerprint}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ("hashes", 3, 0.0)),
        ({"exact_keys": 4}, ("hashes", 3, 0.0)),
        ({"exact_keys": 3}, ("xxhash", 32_770, 0.01)),  # there are four rows, and so may be four keys
        ({"format": "hashes", "exact_keys": 0}, ("hashes", 3, 0.0)),
        ({"format": "xxhash"}, ("xxhash", 32_770, 0.01)),
        ({"format": "xxhash", "error_rate": 0.001}, ("xxhash", 32_773, 0.001)),
    ],
)
def test_a_filter_is_of_the_format_and_error_rate_that_are_asked_for(
    side: Callable[..., Take], options: dict[str, Literal], told: tuple[str, int, float]
) -> None:
    built = side(a=[1, 2, None, 2])("bloom_filter", "a", **options)
    format_, capacity, error_rate = told
    shape = {"format": format_, "capacity": capacity, "error_rate": error_rate}
    assert (built.value, built.detail) == (3, shape | {"columns": ["a"], "counted": True, "buckets": None})
    made = KeyFilter.from_bytes(state_of(built))
    assert (made.columns, made.keys, made.rows, made.shape.capacity) == (("a",), 3, 4, capacity)
    hashes = np.array(sorted(key_hash([text]) for text in ("1", "2", None)), np.uint64)
    assert made.has(hashes).all()


def test_states_that_travel_are_signed(side: Callable[..., Take]) -> None:
    take = side(a=[1, 2, 3])
    for metric, read in (("key_digest", KeyDigest.from_bytes), ("bloom_filter", KeyFilter.from_bytes)):
        signed, plain = (state_of(take(metric, "a", state_key=key)) for key in (KEY, None))
        assert read(signed, KEY).keys == 3
        with pytest.raises(UnableToReadKeys, match="signature"):
            read(plain, KEY)


def test_a_filter_that_would_be_too_large_is_refused(
    side: Callable[..., Take], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_shape, "MAX_BODY_BYTES", 23)
    why = "bloom_filter(a) of trips: 3 keys need a filter of 24 bytes, more than 23"
    failure = Failure(reason=Reason.QUERY_FAILED, detail=why)
    assert side(a=[1, 2, 3])("bloom_filter", "a") == Measured(failure=failure)


def both_digests(own: Take, other: Take, *columns: str, state_key: bytes | None = None) -> dict[str, bytes]:
    """As the inputs of what is measured of ``own``."""
    digests = [state_of(take("key_digest", *columns, state_key=state_key)) for take in (own, other)]
    return dict(zip(("key_digest", "key_digest@other"), digests, strict=True))


def drawn_sides(seed: int) -> tuple[list[int | None], list[int | None]]:
    """Keys of which a few, or many, are on one side only, and some come twice."""
    draw = Random(seed)
    kept = draw.choice([0.5, 0.97])
    both = [[at for at in range(300) if draw.random() < kept] for _ in range(2)]
    here, there = ([*keys, *draw.sample(keys, 20), *([None] * draw.randint(0, 1))] for keys in both)
    return here, there


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("format_", ["hashes", "xxhash"])
@pytest.mark.parametrize("state_key", [None, KEY])
def test_two_sides_are_compared_in_the_buckets_that_differ(
    side: Callable[..., Take], seed: int, format_: str, state_key: bytes | None
) -> None:
    own, other = drawn_sides(seed)
    here, there = side("here", id=pa.array(own, pa.int64())), side("there", id=pa.array(other, pa.int64()))
    hashes = {key: key_hash([None if key is None else str(key)]) for key in {*own, *other}}
    differing = {hashes[key] >> 52 for key in {*own} ^ {*other}}
    inputs = both_digests(there, here, "id", state_key=state_key)
    built = there("bloom_filter", "id", inputs=inputs, format=format_, state_key=state_key)
    shipped = KeyFilter.from_bytes(state_of(built), state_key)
    of_buckets = [key for key in {*other} if hashes[key] >> 52 in differing]
    assert (built.value, built.detail["buckets"], built.detail["counted"]) == (len({*other}), len(differing), True)
    assert (shipped.keys, shipped.buckets and set(shipped.buckets.numbers)) == (len(of_buckets), differing)

    inputs = both_digests(here, there, "id", state_key=state_key) | {"bloom_filter": state_of(built)}
    assert_missing(here("keys_found", "id", inputs=inputs, state_key=state_key), own, other)


@pytest.mark.parametrize("seed", range(4))
def test_two_sides_are_compared_by_a_filter_of_all_keys(side: Callable[..., Take], seed: int) -> None:
    own, other = drawn_sides(seed)
    built = side("there", id=pa.array(other, pa.int64()))("bloom_filter", "id")
    found = side("here", id=pa.array(own, pa.int64()))("keys_found", "id", inputs={"bloom_filter": state_of(built)})
    assert_missing(found, own, other)
    assert found.detail["error_rate"] == len({*other}) / 2**64


def assert_missing(found: Measured, own: Sequence[int | None], other: Sequence[int | None]) -> None:
    """Those that only ``own`` has are counted, and twenty of them named in the order of their texts."""
    texts = [None if key is None else str(key) for key in {*own} - {*other}]
    few = sorted(sorted(texts, key=lambda text: key_hash([text]))[:20], key=lambda text: encode((text,)))
    assert found.value == len({*own} & {*other})
    assert found.detail["lost"] == [{"id": text} for text in few]
    assert found.detail["error_rate"] < 1e-9
    rest = {name: value for name, value in found.detail.items() if name not in ("lost", "error_rate")}
    assert rest == {"missing": len(texts), "hidden": 0, "hidden_at_most": 0}


def test_keys_that_are_all_there_name_none_as_lost(side: Callable[..., Take]) -> None:
    built = side("there", id=[1, 2, 3, 4])("bloom_filter", "id")
    found = side("here", id=[1, 2, 2])("keys_found", "id", inputs={"bloom_filter": state_of(built)})
    assert (found.value, found.detail["missing"], found.detail["lost"]) == (2, 0, [])


def test_a_filter_that_is_nearly_full_tells_how_many_it_may_hide(side: Callable[..., Take]) -> None:
    built = side("there", id=range(32_000))("bloom_filter", "id", format="xxhash")
    found = side("here", id=range(20_000, 60_000))("keys_found", "id", inputs={"bloom_filter": state_of(built)})
    missing, hidden, rate = (found.detail[name] for name in ("missing", "hidden", "error_rate"))
    assert 0.008 < rate < 0.01
    assert hidden == round(missing * rate / (1 - rate)) > 200
    assert found.value == 40_000 - missing - hidden
    at_most = found.detail["hidden_at_most"]
    assert at_most == Loss(keys=40_000, missed=missing, error_rate=rate).hidden_at_most
    assert abs(found.value - 12_000) < at_most - hidden


def test_sides_of_the_same_keys_are_settled_by_their_digests(side: Callable[..., Take]) -> None:
    here, there = side("here", id=[1, 2, 2, None]), side("there", id=[None, None, 2, 1])
    settled = Measured(value=3, detail={"settled": "equal digests", "missing": 0, "lost": []})
    inputs = both_digests(here, there, "id")
    assert here("bloom_filter", "id", inputs=inputs) == here("keys_found", "id", inputs=inputs) == settled


def test_a_filter_of_which_only_bits_are_known_is_of_as_many_keys_as_the_digests_have_counted(
    side: Callable[..., Take],
) -> None:
    def built(
        item: MeasurementRequest, *, keys: int, counted: bool = False, buckets: Buckets | None = None
    ) -> KeyFilter:
        shape = shape_for(keys, format_=Format.XXHASH)
        bits = no_bits(shape.slices, shape.bits_per_slice)
        return filter_of_parts(shape, item.spec.columns, [(bits, 3)], buckets, keys if counted else None)

    reader = cast("KeyReader", SimpleNamespace(name="trips", row_count=lambda: 3, built=built))
    spec = MetricSpec(name="bloom_filter", columns=("id",))
    here, there = side("here", id=[1, 2, 3]), side("there", id=[4])
    alone = OF_KEYS["bloom_filter"](reader, MeasurementRequest(key="k", spec=spec))
    compared = OF_KEYS["bloom_filter"](
        reader, MeasurementRequest(key="k", spec=spec, inputs=both_digests(here, there, "id"))
    )
    assert (alone.value, alone.detail["counted"]) == (0, False)
    assert (compared.value, compared.detail["counted"]) == (3, True)


def test_what_cannot_be_compared_is_told_in_words(side: Callable[..., Take]) -> None:
    here, there = side("here", id=[1, 2], b=[5, 6]), side("there", id=[2, 3], b=[5, 7])
    digests, of_b = both_digests(here, there, "id"), both_digests(here, there, "b")
    shipped = {"bloom_filter": state_of(there("bloom_filter", "id"))}
    of_two = {"bloom_filter": state_of(there("bloom_filter", "id", "b"))}
    unsigned = "the signature is missing or of another key; set the same ASSAY_STATE_KEY on both sides"
    of = "keys_found(id) of trips: "
    every: list[tuple[dict[str, bytes], bytes | None, str]] = [
        ({}, None, "keys_found(id) has no 'bloom_filter' to build on"),
        ({"bloom_filter": b"cut"}, None, f"{of}the state is cut off"),
        (of_two, None, f"{of}it was given a filter of id, b"),
        (of_b | shipped, None, f"{of}the digests are of b and b"),
        (digests | shipped, None, f"{of}the filter is not of the buckets in which the digests differ"),
        (shipped, KEY, f"{of}{unsigned}"),
        (digests, KEY, f"{of}{unsigned}"),
    ]
    for inputs, state_key, why in every:
        failure = Failure(reason=Reason.QUERY_FAILED, detail=why)
        assert here("keys_found", "id", inputs=inputs, state_key=state_key) == Measured(failure=failure)
    failure = Failure(reason=Reason.QUERY_FAILED, detail=f"bloom_filter(id) of trips: {unsigned}")
    assert here("bloom_filter", "id", inputs=digests, state_key=KEY) == Measured(failure=failure)


def sampled(measured: Measured) -> list[tuple[str | None, ...]]:
    sample = Sample.from_bytes(state_of(measured))
    assert measured.value == len(sample.keys)
    return list(sample.keys)


@pytest.mark.parametrize(("options", "size"), [({}, 1000), ({"n": 3}, 3), ({"n": 0}, 1), ({"n": 9_999}, 1_200)])
def test_a_sample_is_of_as_many_keys_of_lowest_hash_as_are_asked_for(
    side: Callable[..., Take], options: dict[str, Literal], size: int
) -> None:
    keys: list[tuple[str | None, ...]] = [(str(at), None if at % 3 else "x") for at in range(1_200)]
    lowest = sorted(keys, key=lambda key: rank(encode(key)))
    take = side(a=list(range(1_200)) * 2, b=[key[1] for key in keys] * 2)
    taken = take("sample", "a", "b", **options)
    assert sampled(taken) == lowest[:size]
    assert Sample.from_bytes(state_of(taken)).columns == ("a", "b")


def test_a_sample_is_of_the_rows_that_count_and_no_larger_than_may_travel(
    side: Callable[..., Take], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = side(a=list(range(50)))
    assert sampled(take("sample", "a", where="a in (7, 9)")) == sorted(
        [("7",), ("9",)], key=lambda key: rank(encode(key))
    )
    monkeypatch.setattr(measures, "MAX_SIZE", 20)
    assert len(sampled(take("sample", "a", n=21))) == 20


@pytest.mark.parametrize("lowest", [["5:cut"], UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")])
def test_keys_of_bytes_that_are_no_text_are_refused_as_a_sample(lowest: Any) -> None:
    def read(item: MeasurementRequest, size: int) -> list[str]:
        if isinstance(lowest, Exception):
            raise lowest
        return cast("list[str]", lowest)

    reader = cast("KeyReader", SimpleNamespace(name="trips", lowest=read))
    wanted = MeasurementRequest(key="k", spec=MetricSpec(name="sample", columns=("a",)))
    why = (
        "sample(a): a key in trips has bytes that are no UTF-8; sample another column, or take "
        "key_digest or bloom_filter of this one"
    )
    assert OF_KEYS["sample"](reader, wanted) == Measured(failure=Failure(reason=Reason.INVALID, detail=why))


def test_keys_of_a_sample_that_did_not_arrive_are_named_by_their_columns(side: Callable[..., Take]) -> None:
    keys: list[tuple[str | None, ...]] = [("1", "x"), ("2", None), ("3", "y"), (None, None), ("1", "x")]
    state = Sample(columns=("a", "b"), keys=tuple(keys)).to_bytes()
    take = side(a=[1, 3, 3, 2], b=["x", "x", "y", None], c=[0, 0, 0, 0])
    found = take("sample_found", arguments=("orders",), inputs={"sample": state})
    lost = [{"a": None, "b": None}]
    assert found == Measured(value=3, detail={"size": 5, "missing": 1, "lost": lost})


def test_no_more_than_twenty_keys_of_a_sample_are_named(side: Callable[..., Take]) -> None:
    keys = [(str(at),) for at in range(10, 40)]
    state = Sample(columns=("a",), keys=tuple(keys)).to_bytes()
    found = side(a=[10, 12, 99])("sample_found", arguments=("orders",), inputs={"sample": state})
    lost = [{"a": str(at)} for at in range(10, 40) if at not in (10, 12)]
    assert found == Measured(value=2, detail={"size": 30, "missing": 28, "lost": lost[:20]})


def test_a_sample_that_cannot_be_looked_for_is_told_in_words(side: Callable[..., Take]) -> None:
    take = side(a=[1])
    of_city = Sample(columns=("city",), keys=(("1",),)).to_bytes()
    has_no = "sample_found('orders') has no sample to look for: "
    cut = "the sample is cut, damaged or not of version 1; take it again"
    for inputs, reason, why in (
        ({}, Reason.QUERY_FAILED, f"{has_no}'sample'"),
        ({"sample": of_city[:-4]}, Reason.QUERY_FAILED, None),
        ({"sample": of_city[: of_city.index(b"\n")]}, Reason.QUERY_FAILED, f"{has_no}{cut}"),
        ({"sample": of_city}, Reason.UNKNOWN_COLUMN, "trips has no column city; it has a"),
    ):
        failure = failure_of(take("sample_found", arguments=("orders",), inputs=inputs))
        assert failure.reason is reason
        assert failure.detail == why if why else failure.detail.startswith(f"{has_no}the bytes are no sample")


def request_of(name: str, *columns: str, where: str | None = None, by: tuple[str, ...] = ()) -> MeasurementRequest:
    spec = MetricSpec(name=name, columns=columns, where=where, by=by)
    return MeasurementRequest(key=spec.text, spec=spec)


COUNTS = Measured(value=7.0, detail={"counted": True})


@pytest.mark.parametrize(
    ("beside", "found", "counts"),
    [
        (request_of("distinct_count", "a"), COUNTS, True),
        (request_of("distinct_count", "holes"), COUNTS, True),
        (request_of("count_distinct", "a"), COUNTS, True),
        (request_of("count_distinct", "a", "holes"), COUNTS, False),
        (request_of("uniqueness", "a"), COUNTS, False),
        (request_of("distinct_count", "a", where="a > 1"), COUNTS, True),
        (request_of("distinct_count", "a"), Measured(value=7.0, detail={"counted": False}), False),
        (request_of("distinct_count", "a"), Measured(value=7.0, detail={"settled": "equal digests"}), True),
        (request_of("distinct_count", "a"), Measured(failure=Failure(reason=Reason.QUERY_FAILED)), False),
        (request_of("distinct_count", "a"), None, False),
    ],
    ids=lambda each: each.key if isinstance(each, MeasurementRequest) else "",
)
def test_a_filter_counts_the_keys_beside_it_where_a_null_makes_no_difference(
    beside: MeasurementRequest, found: Measured | None, counts: bool
) -> None:
    made = request_of("bloom_filter", *beside.spec.columns, where=beside.spec.where)
    measured = {} if found is None else {made.key: found}
    told = counted_by_filters([made, beside], measured, lambda name: name == "a")
    assert told == ({beside.key: Measured(value=7.0)} if counts else {})


def test_a_filter_counts_no_keys_of_other_columns_rows_or_groups_nor_what_is_measured_already() -> None:
    made, known = request_of("key_digest", "a"), request_of("distinct_count", "a")
    others = [
        request_of("distinct_count", "b"),
        request_of("distinct_count", "a", where="a > 1"),
        request_of("distinct_count", "a", by=("b",)),
    ]
    measured = {made.key: COUNTS, known.key: Measured(value=1.0)}
    assert counted_by_filters([made, known, *others], measured, lambda name: True) == {}
