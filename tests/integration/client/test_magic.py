"""Cells of a notebook: a real shell of IPython, a real server, and runners of three kinds."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from sqlalchemy import create_engine

from assay.models import Dataset
from assay_client import AssayClient
from assay_client.magic import runner_of, use

BAD = "select fare from raw.trips where datestr = '2026-03-09'"


@pytest.fixture
def shell(client: AssayClient, trips: Dataset) -> Iterator[Any]:
    shell: Any = InteractiveShell()
    shell.run_line_magic("load_ext", "assay_client.magic")
    yield shell
    use()


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("attach ':memory:' as raw")
    connection.execute("create table raw.trips (fare real, datestr text)")
    connection.execute("insert into raw.trips values (7.5, '2026-03-09')")
    yield connection
    connection.close()


def test_a_cell_of_bad_data_says_so_before_its_result(
    shell: Any, client: AssayClient, connection: sqlite3.Connection, capsys: Any
) -> None:
    use(connection, client=client)
    assert shell.run_cell_magic("assay", "", BAD).to_dict("records") == [{"fare": 7.5}]
    assert capsys.readouterr().err.startswith("raw.trips is bad: ")


def test_a_cell_of_bad_data_is_not_run_where_that_is_blocked(shell: Any, client: AssayClient, capsys: Any) -> None:
    ran: list[str] = []
    use(ran.append, client=client)
    assert shell.run_cell_magic("assay", "--block", BAD) is None
    assert "Not run" in capsys.readouterr().err
    good = BAD.replace("09", "08")
    shell.run_cell_magic("assay", "--block", good)
    assert (ran, capsys.readouterr().err) == ([good], "")


def test_a_cell_of_another_dialect_is_translated_for_the_question_alone(
    shell: Any, client: AssayClient, capsys: Any
) -> None:
    ran: list[str] = []
    use(ran.append, client=client)
    sql = BAD.replace("fare", "json_extract_scalar(\"fare\", '$.a')")
    shell.run_cell_magic("assay", "--dialect trino", sql)
    assert (ran, "trips is bad" in capsys.readouterr().err) == ([sql], True)
    with pytest.raises(UsageError, match="klingon"):
        shell.run_cell_magic("assay", "--dialect klingon", sql)


def test_a_check_runs_nothing(shell: Any, client: AssayClient, capsys: Any) -> None:
    use(lambda sql: pytest.fail(sql), client=client)
    shell.run_line_magic("assay_check", BAD)
    assert capsys.readouterr().out == "Assay says: bad\n"
    shell.run_cell_magic("assay_check", "", "select 1 from no.such")
    assert "does not know no.such" in capsys.readouterr().err


def test_a_cell_runs_though_assay_is_away(shell: Any, capsys: Any) -> None:
    use(str.upper, client=AssayClient("http://127.0.0.1:9", "x", retries=0))
    assert shell.run_cell_magic("assay", "--block", "select 1") == "SELECT 1"
    assert "gives no answer" in capsys.readouterr().err


def test_without_a_runner_the_user_is_told_how_to_name_one(shell: Any, client: AssayClient) -> None:
    use(client=client)
    with pytest.raises(UsageError, match="use"):
        shell.run_cell_magic("assay", "", BAD)
    with pytest.raises(TypeError, match="int runs no SQL"):
        use(3)


def test_engines_of_sqlalchemy_run_cells_too() -> None:
    run = runner_of(create_engine("sqlite://"))
    assert run("create table t (a int)") is None
    assert run("select 1 as a, '%' as b").to_dict("records") == [{"a": 1, "b": "%"}]
