from pathlib import Path

import pytest

from web.demo.replay import UnableToUseHome, claim, wipe


@pytest.mark.parametrize("made", [(), ("secret_key",), ("demo", "assay.db", "lake")])
def test_a_folder_that_is_new_or_a_demos_is_claimed(tmp_path: Path, made: tuple[str, ...]) -> None:
    for name in made:
        (tmp_path / name).touch()
    claim(tmp_path)
    assert (tmp_path / "demo").exists()


def test_a_folder_that_holds_anything_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "assay.db").write_text("a company's catalog")
    with pytest.raises(UnableToUseHome, match=r"assay\.db"):
        claim(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["assay.db"]


def test_wiping_spares_the_marker_and_what_the_settings_have_read(tmp_path: Path) -> None:
    for name in ("demo", "secret_key", "assay.db"):
        (tmp_path / name).touch()
    (tmp_path / "lake" / "dca").mkdir(parents=True)
    wipe(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "secret_key"]
