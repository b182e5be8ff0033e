"""The lists of the two layers name files that there are."""

import pytest

from tests.house.figures import ROOT
from tests.layers import ON_BOTH, QUICK, WHOLE


@pytest.mark.parametrize("start", [*WHOLE, *QUICK, *ON_BOTH])
def test_what_a_layer_names_is_there(start: str) -> None:
    assert list(ROOT.glob(f"{start}*"))


def test_what_the_first_layer_asks_on_both_databases_it_asks_on_one() -> None:
    assert [path for path in ON_BOTH if path.startswith(WHOLE) and path not in QUICK] == []
