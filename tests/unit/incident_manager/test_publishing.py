"""May a window be published, what comes next of a publication, and what a pointer says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incident_manager.publication_state import PublicationState
from incident_manager.publishing.pointers import create_folder, replace_file
from incident_manager.publishing.rules import (
    AuditedTest,
    PublishingStep,
    UnableToReadDocument,
    next_step,
    read_document,
    refusals,
    sealed,
    to_judge,
    written,
)

NOW, OTHER = "fingerprint of now", "fingerprint of before"


def audited(name: str = "t", *, holds: bool = True, read: tuple[str, ...] = (NOW,), excused: str = "") -> AuditedTest:
    return AuditedTest(id=1, name=name, holds=holds, fingerprints=frozenset(read), says="broken", excused=excused)


def reasons_against(*tests: AuditedTest, blocked: tuple[str, ...] = (), looks: str = NOW) -> list[str]:
    return refusals(tests, blocked=blocked, looks=looks, unreadable="it has no files")


@pytest.mark.parametrize(
    "tests",
    [
        (audited(),),
        (audited(), audited("freshness", read=())),
        (audited(), audited("waived", holds=False, read=(OTHER,), excused="waived: wrong bound")),
    ],
)
def test_data_that_all_hard_tests_judged_and_hold_is_published(tests: tuple[AuditedTest, ...]) -> None:
    assert reasons_against(*tests) == []


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ((), "no hard test that holds has read this data"),
        ((audited(read=()),), "no hard test that holds has read this data"),
        ((audited(holds=False, excused="learning"),), "no hard test that holds has read this data"),
        ((audited(), audited("b", holds=False)), "b: broken"),
        ((audited(), audited("b", read=(OTHER,))), "b judged other data"),
        ((audited(), audited("b", read=(NOW, OTHER))), "b judged other data"),
        ((audited(), audited("b", read=("",))), "b judged other data"),
    ],
)
def test_what_is_refused(tests: tuple[AuditedTest, ...], says: str) -> None:
    assert says in reasons_against(*tests)[0]


def test_an_incident_or_data_that_cannot_be_seen_is_refused_whatever_the_tests_say() -> None:
    assert reasons_against(audited(), blocked=("report 3 is confirmed",)) == ["report 3 is confirmed"]
    assert reasons_against(audited(), looks="") == ["it has no files"]


reads = st.lists(st.sampled_from([NOW, OTHER, ""]), max_size=3).map(tuple)
tests_of_a_window = st.lists(
    st.builds(
        lambda holds, read, excused: audited(holds=holds, read=read, excused=excused),
        st.booleans(),
        reads,
        st.sampled_from(["", "waived: x"]),
    ),
    max_size=4,
)


@given(tests_of_a_window)
def test_only_data_that_every_hard_test_has_judged_as_it_is_now_is_published(tests: list[AuditedTest]) -> None:
    if not reasons_against(*tests):
        counted = [test for test in tests if not test.excused]
        assert all(test.holds and test.fingerprints <= {NOW} for test in counted)
        assert any(test.fingerprints == {NOW} for test in counted)
        assert to_judge(tests, looks=NOW) == []


def test_only_tests_that_have_not_judged_this_data_are_to_run() -> None:
    broken, old, never = audited(holds=False), audited(read=(OTHER,)), audited(holds=False, read=())
    assert to_judge([broken, old, never, audited(read=())], looks=NOW) == [old, never]
    assert to_judge([old], looks="") == []


@pytest.mark.parametrize(
    ("state", "holds", "points_here", "step"),
    [
        (PublicationState.AUDITED, True, False, PublishingStep.BEGIN),
        (PublicationState.AUDITED, False, False, PublishingStep.UNDO),
        (PublicationState.MOVING, True, False, PublishingStep.MOVE),
        (PublicationState.MOVING, False, False, PublishingStep.UNDO),
        (PublicationState.MOVING, True, True, PublishingStep.FINISH),
        (PublicationState.MOVING, False, True, PublishingStep.FINISH),
        (PublicationState.PUBLISHED, True, True, None),
        (PublicationState.UNDONE, True, False, None),
    ],
)
def test_the_next_step(state: PublicationState, holds: bool, points_here: bool, step: PublishingStep | None) -> None:
    assert next_step(state, holds=holds, points_here=points_here) is step


values = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.dictionaries(st.text(), values))
def test_a_document_is_read_as_it_was_written(told: dict[str, object]) -> None:
    document = sealed({name: value for name, value in told.items() if name not in ("format", "sha256")})
    assert read_document(written(document)) == document


def test_a_document_that_is_not_whole_is_none() -> None:
    text = written(sealed({"dataset": "raw.trips", "files": []}))
    for wrong in (
        text[:-9],
        text.replace("raw", "mart"),
        "[]",
        "{}",
        "",
        text.replace("publication/1", "publication/2"),
    ):
        with pytest.raises(UnableToReadDocument):
            read_document(wrong)


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for content in (b"one", b"two"):
        replace_file(str(tmp_path / "in" / "a[1]*.json"), content)
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "in").iterdir()] == [("a[1]*.json", b"two")]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def refuse() -> None:
        raise ValueError("it changed")

    files = {"x=1/a": lambda path: path.write_bytes(b"a"), "b": lambda path: path.write_bytes(b"b")}
    with pytest.raises(ValueError, match="it changed"):
        create_folder(tmp_path / "v1", files, check=refuse)
    assert list(tmp_path.iterdir()) == []
    create_folder(tmp_path / "v1", files)
    create_folder(tmp_path / "v1", {"c": lambda path: path.write_bytes(b"c")})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "v1/b",
        "v1/x=1/a",
    ]
