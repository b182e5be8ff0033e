from io import StringIO

import pytest
from rich.console import Console

from web.demo.result import show_open


@pytest.mark.parametrize(
    ("addresses", "line"),
    [
        (["http://127.0.0.1:8000/incidents/9"], "1 incident is open: http://127.0.0.1:8000/incidents/9"),
        (
            ["http://a/incidents/3", "http://a/incidents/9"],
            "2 incidents are open: http://a/incidents/3, http://a/incidents/9",
        ),
        ([], "0 incidents are open: "),
    ],
    ids=["one", "two", "none"],
)
def test_what_is_open_is_told_with_its_address_and_the_command_that_serves_it(addresses: list[str], line: str) -> None:
    said = StringIO()
    show_open(Console(file=said, width=60), addresses, "ASSAY_HOME=/tmp/demo assay up")
    first, second = said.getvalue().splitlines()
    assert first.strip() == line.strip()
    assert second.endswith(": ASSAY_HOME=/tmp/demo assay up")
