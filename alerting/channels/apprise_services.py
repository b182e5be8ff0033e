"""Notices to many more services by apprise, under URLs that the environment alone names.

Apprise opens its own connections. What is guarded here: which services are taken, where a named host leads, encryption,
and that redirects are not followed. A name that is judged here is resolved again by apprise: that is not guarded.
"""

from dataclasses import dataclass
from typing import Any

from .base import ChannelMessage, NamedChannel, TransportError, calls


@dataclass(frozen=True, kw_only=True)
class AppriseChannel(NamedChannel):
    """Sends to the services whose URLs the environment names."""

    permits_private: bool = False

    name = "apprise"
    setting = "ASSAY_APPRISE_URLS"
    address_form = "write the name of a URL in ASSAY_APPRISE_URLS"

    def send(self, message: ChannelMessage) -> str:
        """Hand it to apprise, as text; apprise does not say why it failed, so it is tried again."""
        self.secret(message, "URL")
        service = self._judged(message.to)
        if not service.notify(title=message.subject, body=message.body, body_format="text"):
            raise TransportError(f"apprise: {type(service).__name__} did not take it", permanent=False)
        return ""

    def try_out(self) -> None:
        """Whether each URL is one, and permitted; nothing is sent."""
        for name in self.secrets:
            self._judged(name)

    def _judged(self, name: str) -> Any:
        """The service of a URL; raises TransportError, which bears the URL's name and never the URL."""
        try:
            import apprise
        except ImportError:
            why = "apprise: it is not installed: pip install 'assay[apprise]'"
            raise TransportError(why, permanent=False) from None
        asset = apprise.AppriseAsset(
            app_id="Assay", plugin_paths=[], secure_logging=True, async_mode=False, http_redirects=False
        )
        service = apprise.Apprise.instantiate(self.secrets[name], asset=asset, suppress_exceptions=True)
        if service is None:
            raise TransportError(f"apprise: the URL {name!r} in ASSAY_APPRISE_URLS is none of its own", permanent=False)
        if not type(service).secure_protocol:
            why = f"{type(service).__name__} works on this machine, or without encryption: take another service"
            raise TransportError(f"apprise: {name!r}: {why}", permanent=False)
        if type(service).protocol and service.host:  # one of those whose host the URL names
            scheme = "https" if service.secure else "http"
            place = f"{service.host}:{service.port}" if service.port else service.host
            url = f"{scheme}://{place}/"
            calls(f"apprise: {name!r}", url, permits_private=self.permits_private).try_out(url)
        return service
