"""Queries with every function that the parser knows, rightly and wrongly called: each is read, or refused in words."""

from collections.abc import Callable

import pytest
from sqlglot import exp

from execution_engine.metrics.spec import MetricSpec
from execution_engine.scans.reading import names_read
from web.sql.tables import UnableToReadQuery, table_uses

FUNCTIONS = sorted({name for function in exp.ALL_FUNCTIONS for name in function.sql_names()})
ARGUMENTS = ("", "s", "s, 1", "*", "select 1")
FORMS = (
    "select {}({}) from raw.trips",
    "select * from {}({})",
    "{} {}",
    "select 1 from raw.trips where {}({}) = datestr",
)


def names(text: str) -> object:
    """The tables that planning finds in the text."""
    return names_read(MetricSpec(name="query", arguments=(text,)))


def uses(text: str) -> object:
    """The tables that a look-up finds in the text, or the refusal."""
    try:
        return table_uses(text)
    except UnableToReadQuery as refused:
        return str(refused)


@pytest.mark.parametrize("read", [names, uses])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_every_function_is_read_or_refused(read: Callable[[str], object], form: str) -> None:
    raised = []
    for function in FUNCTIONS:
        for arguments in ARGUMENTS:
            text = form.format(function, arguments)
            try:
                read(text)
            except Exception as error:
                raised.append((text, repr(error)))
    assert not raised, raised[:3]
