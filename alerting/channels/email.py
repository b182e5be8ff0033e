"""Notices by email, as text and as HTML, through Django's SMTP backend."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.errors import MessageError
from email.mime.image import MIMEImage
from hashlib import blake2s
from html import escape
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.mail import EmailMultiAlternatives, get_connection

from .base import Channel, ChannelMessage, NoticePart, Picture, TransportError

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
    has_pictures = brings_pictures = True

    def reaches(self, recipient: str) -> bool:
        """Whether the recipient is an email address."""
        return "@" in recipient[1:]

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
            attachments=[] if message.html else images_of(message.parts),
        )
        email.mixed_subtype = "related"  # type: ignore[attr-defined]  # pictures of the HTML are no attachments
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


def images_of(parts: Sequence[NoticePart]) -> list[MIMEImage]:
    """The pictures that a page of these parts shows."""
    images = []
    for picture in (part.picture for part in parts[:MOST_PARTS] if part.picture):
        image = MIMEImage(picture.png, "png")
        image["Content-ID"] = f"<{image_id(picture)}>"
        image.add_header("Content-Disposition", "inline", filename="chart.png")
        images.append(image)
    return images


def image_id(picture: Picture) -> str:
    """By which the HTML of a mail names a picture that the mail brings."""
    return f"{blake2s(picture.png, digest_size=16).hexdigest()}@assay"


# A message as HTML for mail readers: no scripts, no pictures from elsewhere, styles on each element.

FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"
INK, QUIET, LINE, PAPER = "#1c2733", "#5b6875", "#d8dee4", "#f5f7f9"
MOST_PARTS = 20
COLOURS = {
    "opened": "#b42318",
    "assigned": "#b42318",
    "downstream": "#b54708",
    "followed": "#b54708",
    "updated": "#b54708",
    "recovered": "#067647",
}


def page_of(parts: Sequence[NoticePart]) -> str:
    """The whole page; all that comes from data is escaped."""
    more = f"<p>and {len(parts) - MOST_PARTS} more</p>" if len(parts) > MOST_PARTS else ""
    cards = (
        card(
            f"{title(part.title)}{_body(part.text)}{_image(part.picture)}{buttons(part.links.items())}",
            colour=COLOURS.get(str(part.facts.get("event")), QUIET),
        )
        for part in parts[:MOST_PARTS]
    )
    return page("".join(cards) + more)


def page(content: str) -> str:
    """A page with this content, which is HTML already."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>Assay</title></head>'
        f'<body style="margin:0;background:{PAPER};color:{INK};{FONT};font-size:15px;line-height:1.45">'
        f'<div style="max-width:640px;margin:0 auto;padding:16px">{content}</div></body></html>'
    )


def card(content: str, *, colour: str = QUIET) -> str:
    """A box with a coloured edge around content that is HTML already."""
    style = f"background:#fff;border:1px solid {LINE};border-left:4px solid {colour};padding:16px;margin:0 0 16px"
    return f'<div style="{style}">{content}</div>'


def title(text: str) -> str:
    """A heading, escaped; a long name breaks anywhere."""
    return f'<h1 style="font-size:18px;margin:0 0 8px;overflow-wrap:anywhere">{escape(text)}</h1>'


def buttons(links: Iterable[tuple[str, str]]) -> str:
    """Links that look like buttons, for addresses that a browser opens."""
    style = f"display:inline-block;margin:8px 8px 0 0;padding:6px 12px;border:1px solid {LINE};color:{INK}"
    anchors = [
        f'<a style="{style};text-decoration:none" href="{escape(url)}">{escape(name)}</a>'
        for name, url in links
        if url.startswith(("https://", "http://"))
    ]
    return "".join(anchors)


def _image(picture: Picture | None) -> str:
    """A picture that the mail brings; its words where a reader shows none."""
    if picture is None:
        return ""
    style = "display:block;width:100%;max-width:480px;height:auto;margin:8px 0"
    return f'<img src="cid:{image_id(picture)}" alt="{escape(picture.text)}" width="480" style="{style}">'


def _body(text: str) -> str:
    """Paragraphs, and lists of the lines that begin with a dash."""
    pieces: list[str] = []
    is_list = False
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("- ") != is_list:
            pieces.append("</ul>" if is_list else '<ul style="margin:0 0 8px;padding-left:20px">')
            is_list = not is_list
        if is_list:
            pieces.append(f'<li style="overflow-wrap:anywhere">{escape(line[2:])}</li>')
        else:
            pieces.append(f'<p style="margin:0 0 8px;overflow-wrap:anywhere">{escape(line)}</p>')
    return "".join([*pieces, "</ul>" if is_list else ""])
