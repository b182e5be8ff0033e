"""The texts that the scripts of the pages show, by the name that a script asks for."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TEXTS: Mapping[str, Promise] = {
    # every page
    "logged out": _(
        "You are logged out: what is shown does not change any more. Log in again; what you have typed here is kept."
    ),
    "scrolls": _("table that scrolls"),
    # the editor
    "names to take": _("Names to take"),
    "names": _("%(count)s names, %(first)s"),
    "owner": _("owner %(name)s"),
    "not checked": _(
        "This could not be checked. If you were logged out, press Save: what you typed is kept while you log in."
    ),
    # results over time
    "window": _("Window"),
    "value": _("Value"),
    "held": _("held"),
    "broken": _("broken"),
    "at least": _("at least"),
    "at most": _("at most"),
    "wanted at least": _("wanted at least %(value)s"),
    "wanted at most": _("wanted at most %(value)s"),
    "mended": _("mended"),
    "told": _("Broken: %(windows)s."),
    "more": _("and %(count)s more"),
    "was broken": _("held, was broken at %(value)s"),
    # lineage
    "tier": _("tier %(tier)s"),
}
