"""Notices by email, as text and as HTML, through Django's SMTP backend."""

from dataclasses import dataclass
from email.errors import MessageError
from hashlib import blake2s
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.mail import EmailMultiAlternatives, get_connection

from .base import Channel, ChannelMessage, TransportError
from .email_html import page_of

BACKEND = "django.core.mail.backends.smtp.EmailBackend"
TIMEOUT = 10  # seconds
PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True, kw_only=True)
class EmailChannel(Channel):
    """Sends to recipients whose name is an address; ``url`` is smtp://, smtp://…?tls=true or smtps://."""

    url: str
    sender: str

    name = "email"
    setting = "ASSAY_EMAIL_URL"
    address_form = "write an address with an @"

    def reaches(self, recipient: str) -> bool:
        """Whether the recipient is an email address."""
        return "@" in recipient

    def send(self, message: ChannelMessage) -> str:
        """Hand the message to the server; a refusal in the 500s is permanent, all else is not."""
        email = EmailMultiAlternatives(
            subject=message.subject,
            body=message.body,
            from_email=self.sender,
            to=[message.to],
            headers={"Message-ID": message_id(message.key)},
            connection=get_connection(BACKEND, **smtp_options(self.url)),
            alternatives=[(message.html or page_of(message.parts), "text/html")],
        )
        try:
            email.send()
        except SMTPRecipientsRefused as refused:
            codes = [code for code, _ in refused.recipients.values()]
            raise TransportError(f"refused: {refused}", permanent=all(500 <= code < 600 for code in codes)) from refused
        except SMTPResponseException as error:
            raise TransportError(str(error), permanent=500 <= error.smtp_code < 600) from error
        except (ValueError, MessageError) as error:  # a header that holds a line break: it will never go out
            raise TransportError(str(error), permanent=True) from error
        except (SMTPException, OSError) as error:
            raise TransportError(f"{type(error).__name__}: {error}", permanent=False) from error
        return ""

    def try_out(self) -> None:
        """Connect to the server and log in."""
        connection = get_connection(BACKEND, **smtp_options(self.url))
        try:
            connection.open()
        except (SMTPException, OSError) as error:
            raise TransportError(f"email: {type(error).__name__}: {error}", permanent=False) from error
        finally:
            connection.close()


def message_id(key: str) -> str:
    """The same id for every try of one message, whatever characters its key has."""
    return f"<{blake2s(key.encode(), digest_size=16).hexdigest()}@assay>"


def smtp_options(url: str) -> dict[str, Any]:
    """What Django's backend takes, from a URL."""
    parts = urlsplit(url)
    secure = parts.scheme == "smtps"
    return {
        "host": parts.hostname or "localhost",
        "port": parts.port or PORTS.get(parts.scheme, 25),
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_ssl": secure,
        "use_tls": not secure and parse_qs(parts.query).get("tls") == ["true"],
        "timeout": TIMEOUT,
    }
