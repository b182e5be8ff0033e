r"""Patterns that go by a name: what a whole text may be, and what may stand anywhere inside of one.

The expressions are Java's, in what they share with Python's. ``CHECKED`` ones count only what passes Luhn's check too.
"""

from collections.abc import Mapping

# Of a host: letters and signs of any script, digits, - and _; no other ASCII, so that no address swallows its brackets.
_SIGN = r"[^\s!-,./:-@\[-\^`{-~]"
_HOST = rf"(?:{_SIGN}+(?:\.{_SIGN}+)*|\[[0-9A-Fa-f:.]+\])"
_WEB = rf"://(?:[^\s/?#@]+@)?{_HOST}(?::[0-9]{{1,5}})?(?:[/?#]\S*)?"
_LABEL = r"[^\s!-,./:-@\[-`{-~]"
# Each part has a length, so that no text takes longer than its own length to search.
_ATOM = r"[^\s\"(),.:;<>@\[\\\]]"
_MAIL = (
    rf"(?<!{_ATOM}){_ATOM}{{1,64}}(?:\.{_ATOM}{{1,64}}){{0,9}}"
    rf"@(?:{_LABEL}{{1,63}}\.){{1,9}}(?![0-9]+(?!{_LABEL})){_LABEL}{{2,63}}"
)

# Each issuer's first digits and length, in the groups that are printed: 4-4-4-4, 4-6-5 and 4-6-4, by one separator.
_CARD = (
    r"(?:4[0-9]{12}"  # Visa of 13 digits, of 16 or 19
    r"|4[0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)"  # Mastercard
    r"([ -]?)[0-9]{4}\2[0-9]{4}\2[0-9]{4}"
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2}|62[0-9]{2}|352[89]|35[3-8][0-9])"  # Discover, UnionPay, JCB: 16 to 19 digits
    r"([ -]?)[0-9]{4}\3[0-9]{4}\3[0-9]{4}(?:\3[0-9]{1,3})?"
    r"|3[47][0-9]{2}([ -]?)[0-9]{6}\4[0-9]{5}"  # American Express
    r"|(?:30[0-5][0-9]|3095|3[689][0-9]{2})([ -]?)[0-9]{6}\5[0-9]{4})"  # Diners Club
)
_SSN = r"(?!219-?09-?9999|078-?05-?1120)(?!000|666|9)[0-9]{3}([ -]?)(?!00)[0-9]{2}\1(?!0000)[0-9]{4}"
_END = r"(?![\s\S])"  # $ would let a line break follow
_WHOLE: Mapping[str, str] = {
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "url": rf"(?i:https?){_WEB}",
    "uuid": r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    "ipv4": r"((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])",
    "date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "integer": r"[+-]?[0-9]+",
    "decimal": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)",
    "credit_card": _CARD,
    "social_security_number": r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}",
    "phone": r"\+?[0-9(][0-9 ()-]{5,18}[0-9]",
}
_INSIDE: Mapping[str, str] = {
    "contains_email": _MAIL,
    "contains_url": rf"(?<![A-Za-z0-9])(?i:https?|ftp){_WEB}",
    # not within longer numbers or behind a decimal point
    "contains_credit_card_number": rf"(?<![0-9])(?<![0-9][.]){_CARD}(?![0-9])(?![.][0-9])",
    "contains_social_security_number": rf"(?<![0-9])(?<![0-9][.-]){_SSN}(?![0-9])(?![.-][0-9])",
}
NAMED: Mapping[str, str] = {name: f"^{whole}{_END}" for name, whole in _WHOLE.items()} | dict(_INSIDE)
CHECKED = ("credit_card", "contains_credit_card_number")
