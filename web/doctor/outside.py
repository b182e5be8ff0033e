"""Checks of what the service calls outside: the channels that reach people, and whoever misses the scheduler."""

from alerting.channels import Channel, TransportError, channels, check_routes
from alerting.routes.route_file import UnableToReadRoutes
from assay.config import config
from assay.edge.destination import UnableToCall
from assay.edge.outbound import judge
from assay.scheduler.ping import rules

from .finding import Finding, ill, well


def reach() -> Finding:
    """Whether each channel could send now; nobody is told anything."""
    tried = {channel.name: _failure(channel) for channel in channels()}
    if failures := list(filter(None, tried.values())):
        mend = "correct ASSAY_EMAIL_URL, ASSAY_WEBHOOK_* or others (docs/notifications.md); notices wait until then"
        return ill("channels", "; ".join(failures), mend)
    return well("channels", ", ".join(tried))


def routes() -> Finding:
    """Whether the route file can be used, with every address that it names."""
    try:
        found = check_routes()
    except UnableToReadRoutes as wrong:
        return ill("routes", str(wrong), "correct the file that ASSAY_ROUTES names (docs/notifications.md)")
    named = len(found.teams) + len(found.owners)
    return well("routes", f"{named} of teams and owners" if named or found.default else "none: names alone decide")


def heartbeat() -> Finding:
    """Whether the URL that the scheduler calls may be called; it is not, as that would hide a silent scheduler."""
    url = config().heartbeat_url.get_secret_value()
    if not url:
        return well("heartbeat", "none: nobody outside would notice that the scheduler has stopped")
    try:
        place, _ = judge(url, rules(url))
    except UnableToCall as unable:
        return ill("heartbeat", str(unable), "correct ASSAY_HEARTBEAT_URL")
    return well("heartbeat", place.host)


def _failure(channel: Channel) -> str:
    try:
        channel.try_out()
    except TransportError as error:
        return str(error)
    return ""
