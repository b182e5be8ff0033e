"""What is found inside of texts, over the values that Deequ's own tests try and over sentences that hold them."""

import pytest

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Check, VerificationSuite

CARDS = [  # ten of issuers, as they are printed, and three that are none
    *("378282246310005", "6011111111111117", "6011 1111 1111 1117", "6011-1111-1111-1117", "5555555555554444"),
    *("5555 5555 5555 4444", "5555-5555-5555-4444", "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111"),
    *("0000111122223333", "000011112222333", "00001111222233"),
]
URLS = [  # ten that are, and three that are none
    *("http://foo.com/blah_blah", "http://foo.com/blah_blah_(wikipedia)", "http://➡.ws/䨹", "http://⌘.ws/"),
    *("http://foo.bar/?q=Test%20URL-encoded%20stuff", "http://☺.damowmow.com/", "http://例子.测试"),
    *("https://foo_bar.example.com/", "http://userid@example.com:8080", "http://foo.com/blah_(wikipedia)#cite-1"),
    *("http://../", "h://test", "http://.www.foo.bar/"),
]
NUMBERS = [
    *("111-05-1130", "111051130"),
    *("111-05-000", "111-00-000", "000-05-1130", "666-05-1130", "900-05-1130", "999-05-1130"),
]
MAILS = ["ada@example.org", "nobody", "@example.org", "ada@example"]
CASES = [
    ("contains_credit_card_number", CARDS, 10),
    ("contains_url", URLS, 10),
    ("contains_social_security_number", NUMBERS, 2),
    ("contains_email", MAILS, 1),
]


@pytest.mark.parametrize(("name", "texts", "found"), CASES, ids=[name for name, _, _ in CASES])
@pytest.mark.parametrize("around", ["{}", "please note: {} (from the form)\nand so on"], ids=["whole", "inside"])
def test_it_is_found_as_a_whole_text_and_inside_of_one(
    spark_engine: SparkEngine, name: str, texts: list[str], found: int, around: str
) -> None:
    frame = spark_engine.session.createDataFrame([(around.format(text),) for text in texts], "note string")
    check = getattr(Check(), name)("note", found / len(texts))
    (result,) = VerificationSuite().on(frame, "notes").add_check(check).run().checks[0].constraints
    assert result.status == "success", result.message
