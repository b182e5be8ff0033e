"""A MySQL server that answers every query by asking for a file of its client's, as one in foreign hands can."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

GREETING = (
    (b"\x0a5.7.0-rogue\0" + b"\1\0\0\0" + b"12345678\0" + b"\xff\xf7" + b"\x21" + b"\2\0" + b"\xff\x81" + b"\x15")
    + b"\0" * 10
    + b"123456789012\0"
    + b"mysql_native_password\0"
)
OK = b"\0\0\0\2\0\0\0"


@contextmanager
def rogue_mysql(wanted: str) -> Iterator[tuple[int, list[bytes]]]:
    """Its port on this machine, and all that it was sent after it had asked for the file ``wanted``."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, wanted, sent), daemon=True).start()
        yield server.getsockname()[1], sent


def _serve(server: socket.socket, wanted: str, sent: list[bytes]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            try:
                _talk(connection, wanted, sent)
            except OSError:
                continue


def _talk(connection: socket.socket, wanted: str, sent: list[bytes]) -> None:
    _write(connection, 0, GREETING)
    number, _ = _read(connection)
    _write(connection, number + 1, OK)
    while True:
        number, asked = _read(connection)
        if not asked or asked[0] == 1:  # gone
            return
        if asked[0] != 3 or asked[1:].lower().startswith((b"set ", b"rollback", b"commit")):
            _write(connection, number + 1, OK)
            continue
        _write(connection, number + 1, b"\xfb" + wanted.encode())
        while True:
            number, piece = _read(connection)
            if not piece:
                break
            sent.append(piece)
        _write(connection, number + 1, OK)


def _read(connection: socket.socket) -> tuple[int, bytes]:
    head = _exactly(connection, 4)
    return head[3], _exactly(connection, int.from_bytes(head[:3], "little"))


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def _write(connection: socket.socket, number: int, payload: bytes) -> None:
    connection.sendall(len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload)
