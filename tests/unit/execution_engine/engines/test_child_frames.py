"""What goes through the pipes of a child, and what is refused there."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.child.wire import MAX_BLOBS, Frame, UnableToReadFrame, read_frame, write_frame

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists, max_leaves=8
)


def written(frame: Frame) -> bytes:
    pipe = BytesIO()
    write_frame(pipe, frame)
    return pipe.getvalue()


@given(
    st.lists(
        st.builds(
            lambda h, b: Frame(header=h, blobs=tuple(b)), st.dictionaries(st.text(), JSON), st.lists(st.binary())
        ),
        max_size=4,
    )
)
def test_frames_come_out_as_they_went_in(frames: list[Frame]) -> None:
    pipe = BytesIO(b"".join(map(written, frames)))
    assert [read_frame(pipe) for _ in frames] == frames
    assert read_frame(pipe) is None


@given(st.data())
def test_a_frame_that_ends_early_is_refused(data: st.DataObject) -> None:
    whole = written(Frame(header={"id": 1}, blobs=(b"abc", b"")))
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(UnableToReadFrame):
        read_frame(BytesIO(whole[:cut]))


@given(st.binary(min_size=1))
def test_noise_is_refused_or_is_a_frame(noise: bytes) -> None:
    try:
        frame = read_frame(BytesIO(noise))
    except UnableToReadFrame:
        return
    assert isinstance(frame, Frame)


@pytest.mark.parametrize(
    "header",
    [b"[]", b"{}", b'{"header": 1, "lengths": []}', b'{"header": {}, "lengths": [-1, 1]}', b"\xff", b'{"header": {}}'],
)
def test_a_header_of_another_shape_is_refused(header: bytes) -> None:
    with pytest.raises(UnableToReadFrame):
        read_frame(BytesIO(len(header).to_bytes(8, "big") + bytes(8) + header))


def test_a_frame_that_claims_too_much_is_refused_before_it_is_read() -> None:
    with pytest.raises(UnableToReadFrame, match="are allowed"):
        read_frame(BytesIO((2).to_bytes(8, "big") + (MAX_BLOBS + 1).to_bytes(8, "big") + b"{}"))
