import numpy as np
import pytest

from execution_engine.metrics.keys.bits import BUCKETS, Hashes, in_buckets
from execution_engine.metrics.keys.digest import OTHER, OWN, Buckets, KeyDigest, compared, digest_of_hashes
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from tests.unit.execution_engine.metrics.key_files import forged, hashes

EVERY = hashes(50_000)


def digest(of: Hashes, rows: int | None = None) -> KeyDigest:
    return digest_of_hashes(("id",), of, len(of) if rows is None else rows)


def test_the_words_of_a_bucket_are_those_that_python_computes() -> None:
    words = digest(EVERY).words
    of_bucket = [int(each) for each in EVERY if int(each) >> 52 == 77]
    every = 0
    for each in of_bucket:
        every ^= each
    assert words[77].tolist() == [len(of_bucket), every, sum(of_bucket) % 2**64]
    assert digest(EVERY).keys == len(EVERY)


def test_equal_sets_have_equal_fingerprints_whatever_their_rows() -> None:
    assert digest(EVERY).fingerprint == digest(EVERY.copy(), rows=90_000).fingerprint


def test_a_key_lost_differs_in_its_bucket_only() -> None:
    lost = np.delete(EVERY, 30_000)
    assert digest(EVERY).differing(digest(lost)) == Buckets((int(EVERY[30_000] >> np.uint64(52)),))


def test_equal_counts_do_not_make_equal_sets() -> None:
    other = EVERY.copy()
    other[100] += np.uint64(1)
    assert digest(EVERY).keys == digest(other).keys
    assert len(digest(EVERY).differing(digest(other)).numbers) == 1


@pytest.mark.parametrize("count", [0, 1, 50_000])
def test_a_digest_is_read_back_as_it_was_written(count: int) -> None:
    written = digest(EVERY[:count])
    found = KeyDigest.from_bytes(written.to_bytes(b"secret"), b"secret")
    assert (found.keys, found.fingerprint, found.columns) == (count, written.fingerprint, ("id",))


@pytest.mark.parametrize("claim", [{"keys": 1}, {"rows": 3}, {"kind": "key_filter"}, {"columns": "id"}])
def test_a_false_claim_is_refused(claim: dict[str, object]) -> None:
    with pytest.raises(UnableToReadKeys):
        KeyDigest.from_bytes(forged(digest(EVERY).to_bytes(), claim))


def test_counts_that_overflow_are_refused() -> None:
    words = np.zeros((BUCKETS, 3), dtype="<u8")
    words[:2, 0] = 2**63
    with pytest.raises(UnableToReadKeys, match="add up"):
        KeyDigest.from_bytes(forged(digest(EVERY[:0]).to_bytes(), body=words.tobytes()))


def test_two_sides_are_compared_by_their_digests() -> None:
    sides = compared({OWN: digest(EVERY).to_bytes(), OTHER: digest(EVERY[1:]).to_bytes()}, ("id",), None)
    assert sides is not None
    assert not sides.equal
    assert sides.own_keys == int((EVERY >> np.uint64(52) == EVERY[0] >> np.uint64(52)).sum())


def test_digests_of_other_columns_are_refused() -> None:
    state = digest(EVERY).to_bytes()
    with pytest.raises(UnableToReadKeys, match="digests are of id"):
        compared({OWN: state, OTHER: state}, ("uuid",), None)


@pytest.mark.parametrize(("own", "other"), [("uuid", "id"), ("id", "uuid")])
def test_a_digest_of_other_columns_on_one_side_is_refused(own: str, other: str) -> None:
    named = {OWN: own, OTHER: other}
    states = {side: digest_of_hashes((name,), EVERY, len(EVERY)).to_bytes() for side, name in named.items()}
    with pytest.raises(UnableToReadKeys, match=f"digests are of {own} and {other}"):
        compared(states, ("id",), None)


@pytest.mark.parametrize("text", [None, 7, "", "zz" * 512, "00" * 511, "٣" * 1024])
def test_what_names_no_buckets_is_refused(text: object) -> None:
    with pytest.raises(UnableToReadKeys):
        Buckets.from_text(text)


def test_buckets_are_read_back_and_choose_their_hashes() -> None:
    some = Buckets((0, 9, 4095))
    assert Buckets.from_text(some.text) == some
    assert {int(each) >> 52 for each in in_buckets(EVERY, some.numbers)} == set(some.numbers)
