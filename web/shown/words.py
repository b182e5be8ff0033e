"""The words for stored values, in the reader's language; the API gives the stored values themselves."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

PLAIN = {  # what a reader would not understand
    "forced": _("false positive"),
    "spoilt": _("bad"),
    "rerun": _("run again"),
    "silenced": _("muted"),
    "inhibited by its cause": _("muted: its cause was told"),
    "resolved within grace": _("resolved before its notice was due"),
    "never told of the incident": _("was not told of the incident"),
}
EVENTS = (  # of an incident's timeline, beside the states of a report and the ways in which a user ends an incident
    gettext_noop("opened"),
    gettext_noop("reopened"),
    gettext_noop("resolved"),
    gettext_noop("healed"),
    gettext_noop("annotated"),
    gettext_noop("acknowledged"),
    gettext_noop("cause resolved"),
    gettext_noop("report joined"),
    gettext_noop("gate overridden"),
)
ENGLISH = "en"


def plain(value: str) -> str:
    """The words that a page shows for a stored value; a value that is no word of ours stays as it is."""
    return str(PLAIN[value]) if value in PLAIN else gettext(value)


def in_english(text: str) -> SafeString | str:
    """A text that is in no other language, marked as English for who reads aloud, where the page is not."""
    return text if get_language() == ENGLISH else format_html('<span lang="en">{}</span>', text)
