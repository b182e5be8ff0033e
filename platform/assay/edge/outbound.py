"""Calls to the outside: to the very address that was judged, within one deadline, whatever the other side does.

A name is resolved once; asking for it again at connecting would let its owner answer otherwise the second time.
"""

import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from time import monotonic

import certifi
import h11

from .destination import Destination, DestinationRules, UnableToCall, destination, judged

SECONDS = 10.0  # for everything after the name is resolved
MOST_BYTES = 64 * 1024  # read of any reply before its body
MOST_OF_BODY = 512 * 1024

Resolve = Callable[[str, int], Iterable[str]]


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a name, each once; the system's resolver has time-outs of its own."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """An instant on the monotonic clock."""

    at: float

    def left(self) -> float:
        """Seconds until then; raises UnableToCall when it is over."""
        left = self.at - monotonic()
        if left <= 0:
            raise UnableToCall("no answer within the deadline")
        return left


@dataclass(frozen=True, kw_only=True)
class HttpAnswer:
    """What came back; the names of headers are in lower case, and the body may be the first part of a longer one."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


def call(
    method: str,
    url: str,
    *,
    rules: DestinationRules,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    seconds: float = SECONDS,
    resolve: Resolve = resolved,
) -> int:
    """The status that a URL answers; its body stays unread and redirects are not followed. Raises UnableToCall."""
    answer = ask(method, url, rules=rules, headers=headers, body=body, seconds=seconds, resolve=resolve, most=0)
    return answer.status


def ask(
    method: str,
    url: str,
    *,
    rules: DestinationRules,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    seconds: float = SECONDS,
    resolve: Resolve = resolved,
    most: int = MOST_OF_BODY,
) -> HttpAnswer:
    """What a URL answers, with ``most`` bytes of its body; redirects are not followed. Raises UnableToCall."""
    place, addresses = judge(url, rules, resolve=resolve)
    try:
        deadline = Deadline(at=monotonic() + seconds)
        with closing(_connected(place, addresses, deadline)) as wire:
            own = {"Host": place.named, "User-Agent": "assay", "Connection": "close", "Content-Length": str(len(body))}
            return _exchange(
                wire,
                h11.Request(method=method, target=place.target, headers=[*own.items(), *(headers or {}).items()]),
                body,
                deadline,
                most,
            )
    except TimeoutError:
        raise UnableToCall(f"{place.host} did not answer within {seconds:g} s") from None
    except (OSError, h11.ProtocolError) as error:
        raise UnableToCall(f"{place.host}: {type(error).__name__}: {error}") from error


def judge(url: str, rules: DestinationRules, *, resolve: Resolve = resolved) -> tuple[Destination, list[str]]:
    """Where a URL leads, and the addresses of that, each of which may be connected to; raises UnableToCall."""
    place = destination(url, rules)
    try:
        return place, judged(resolve(place.host, place.port), rules)
    except OSError as error:
        raise UnableToCall(f"{place.host}: {type(error).__name__}: {error}") from error


def _connected(place: Destination, addresses: Iterable[str], deadline: Deadline) -> socket.socket:
    """A connection to the first of the addresses that takes one, whose certificate is the name's."""
    failure: OSError = OSError("no address")
    for address in addresses:
        try:
            wire = socket.create_connection((address, place.port), timeout=deadline.left())
        except OSError as error:
            failure = error
            continue
        try:
            wire.settimeout(deadline.left())
            return trust().wrap_socket(wire, server_hostname=place.host) if place.is_encrypted else wire
        except BaseException:
            wire.close()
            raise
    raise failure


@cache
def trust() -> ssl.SSLContext:
    """The system's authorities (or those of SSL_CERT_FILE) and Mozilla's."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _exchange(wire: socket.socket, request: h11.Request, body: bytes, deadline: Deadline, most: int) -> HttpAnswer:
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_BYTES)
    for part_of_ours in (request, h11.Data(data=body), h11.EndOfMessage()):
        view = memoryview(http.send(part_of_ours) or b"")
        while view:  # ``sendall`` would start its time-out anew for each part of an encrypted message
            wire.settimeout(deadline.left())
            view = view[wire.send(view[:16384]) :]
    read = 0
    while not isinstance(event := http.next_event(), h11.Response):
        if event is h11.NEED_DATA:
            wire.settimeout(deadline.left())
            part = wire.recv(8192)
            read += len(part)
            http.receive_data(part)
        elif not isinstance(event, h11.InformationalResponse):
            raise UnableToCall("the connection was closed before an answer")
        if read > MOST_BYTES:
            raise UnableToCall(f"more than {MOST_BYTES} bytes before an answer")
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in event.headers}
    reply = bytearray()  # a document of a provider may be large
    while len(reply) < most:
        part_of_body = http.next_event()
        if part_of_body is h11.NEED_DATA:
            wire.settimeout(deadline.left())
            http.receive_data(wire.recv(65536))
        elif isinstance(part_of_body, h11.Data):
            reply += part_of_body.data
        else:  # its end
            break
    return HttpAnswer(status=event.status_code, headers=headers, body=bytes(reply[:most]))
