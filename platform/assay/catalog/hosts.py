"""Whether two names of hosts lead to one machine."""

import socket
from ipaddress import ip_address


def is_same_machine(one: str, other: str) -> bool:
    """Whether both have an address in common, or both are this machine; a name that has none is nobody's."""
    ours, theirs = _addresses(one), _addresses(other)
    return bool(ours & theirs) or (any(map(_is_here, ours)) and any(map(_is_here, theirs)))


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return set()


def _is_here(address: str) -> bool:
    """Only an address of this machine can be listened at."""
    if ip_address(address).is_loopback or ip_address(address).is_unspecified:
        return True
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
