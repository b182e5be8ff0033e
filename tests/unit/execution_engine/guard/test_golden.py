import pytest

from execution_engine.guard import UnableToAllow, read_condition, read_query
from execution_engine.outcome import Reason
from tests.unit.execution_engine.guard import golden

ATTACKS = [(kind, text) for kind, texts in golden.payloads().items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), ATTACKS)
def test_no_attack_is_a_query(kind: str, text: str) -> None:
    with pytest.raises(UnableToAllow) as refused:
        read_query(text, golden.TABLES, golden.COLUMNS)
    assert refused.value.failure.reason is Reason.INVALID
    assert not refused.value.failure.transient
    assert "; " in str(refused.value), "it says what is wrong; and how to mend it"
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(("kind", "text"), ATTACKS)
def test_no_attack_is_a_condition(kind: str, text: str) -> None:
    for condition in (text, f"({text})", f"exists ({text})", text.removeprefix("select ")):
        with pytest.raises(UnableToAllow):
            read_condition(condition, ())


@pytest.mark.parametrize("text", ["evil.upper(city) = 'X'", "`evil`.upper(city) = 'X'", "a.b.upper(city) = 'X'"])
def test_a_function_of_somebodys_own_schema_is_no_condition(text: str) -> None:
    with pytest.raises(UnableToAllow, match="another name than its own"):
        read_condition(text, golden.COLUMNS)


@pytest.mark.parametrize("text", golden.queries())
def test_an_honest_query_is_written_anew_without_comments(text: str) -> None:
    query = read_query(text, golden.TABLES, golden.COLUMNS)
    assert "--" not in query.sql
    assert read_query(query.sql, golden.TABLES, golden.COLUMNS).sql == query.sql


@pytest.mark.parametrize("text", golden.conditions())
def test_an_honest_condition_is_written_anew_without_comments(text: str) -> None:
    condition = read_condition(text, golden.COLUMNS)
    assert "--" not in condition.sql
    assert "/*" not in condition.sql
    assert read_condition(condition.sql, golden.COLUMNS).sql == condition.sql


def test_there_are_enough_of_each() -> None:
    assert len(golden.payloads()) == 13
    assert len(golden.queries()) >= 30
    assert len(golden.conditions()) >= 50
