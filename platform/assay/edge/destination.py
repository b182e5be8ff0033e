"""Where the service may call: a URL that somebody wrote down must not lead to machines that only we can reach."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
UNSAFE = tuple(  # special networks that Python counts as public, or as no more than private
    ip_network(network)
    for network in (
        *("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "100::/64", "5f00::/16", "64:ff9b:1::/48"),
        *("2001:10::/28", "2001:20::/28"),
    )
)
METADATA = frozenset(map(ip_address, ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200")))  # services of clouds
ISATAP = frozenset({0x00005EFE, 0x02005EFE})  # the third quarter of an IPv6 address whose last one is an IPv4 address
NAT64 = IPv6Network("64:ff9b::/96")  # its last 32 bits are the IPv4 address that is meant

Address = IPv4Address | IPv6Address


class UnableToCall(Exception):
    """A call was refused, failed or took too long; the text says which and how to mend it."""


@dataclass(frozen=True, kw_only=True)
class DestinationRules:
    """What may be called: these hosts, as ``name`` or ``name:port``; private addresses and http only where told."""

    hosts: frozenset[str]
    permits_private: bool = False


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A URL that the rules permit, taken apart; what its name resolves to is still to be judged."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def is_encrypted(self) -> bool:
        """Whether it is called with TLS."""
        return self.scheme == "https"

    @property
    def named(self) -> str:
        """The Host header: the port only where it is not the scheme's own, brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def rules_for(url: str, hosts: Collection[str] = (), *, permits_private: bool = False) -> DestinationRules:
    """Rules with these hosts; without any, the host of the URL itself is the only one."""
    own = ""
    with suppress(ValueError, UnableToCall):  # ``destination`` says what is wrong with the URL
        own = _ascii(urlsplit(url).hostname or "")
    names = frozenset(host.lower() for host in hosts or (own,))
    return DestinationRules(hosts=names, permits_private=permits_private)


def destination(url: str, rules: DestinationRules) -> Destination:
    """The URL taken apart; raises UnableToCall where the rules forbid it. No message bears more of it than its host."""
    if not url.isprintable() or " " in url or "\\" in url:
        raise UnableToCall("the URL holds a space, a backslash or a character that cannot be printed")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as wrong:
        raise UnableToCall(f"the URL cannot be read: {wrong}") from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS or (scheme == "http" and not rules.permits_private):
        raise UnableToCall(f"{scheme or 'a URL without a scheme'} is not permitted: use https")
    if "@" in parts.netloc:
        raise UnableToCall("a name or password in the URL is not permitted: they are shown wherever the URL is")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    name = _ascii(host)
    if not target.isascii():
        raise UnableToCall("the URL's path holds characters beyond ASCII: write them as %XX")
    place = Destination(scheme=scheme, host=name, port=port or PORTS[scheme], target=target)
    # a host is listed with its port, or alone for its scheme's own port; in private any port will do
    is_usual = rules.permits_private or place.port == PORTS[scheme]
    if f"{name}:{place.port}" not in rules.hosts and not (is_usual and name in rules.hosts):
        listed = ", ".join(sorted(rules.hosts))
        raise UnableToCall(f"{name}:{place.port} is not among the permitted hosts: {listed}")
    return place


def judged(resolved: Iterable[str], rules: DestinationRules) -> list[str]:
    """The addresses of one name, if every one may be connected to; raises UnableToCall."""
    addresses = list(resolved)
    if not addresses:
        raise UnableToCall("the name has no address")
    if refused := [address for address in addresses if not is_permitted(address, private=rules.permits_private)]:
        raise UnableToCall(f"the name leads to {', '.join(refused)}, which is not an address of the public Internet")
    return addresses


def is_permitted(text: str, *, private: bool) -> bool:
    """Whether an address is public, also when it wraps another; ``private`` permits loopback and private ones too.

    Link-local ones are never permitted: a cloud's metadata service, which hands out keys, has one.
    """
    address: Address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        teredo = address.teredo[1] if address.teredo else None
        nat = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None
        compatible = IPv4Address(int(address)) if 1 < int(address) < 2**32 else None  # ::127.0.0.1
        isatap = IPv4Address(int(address) & 0xFFFFFFFF) if int(address) >> 32 & 0xFFFFFFFF in ISATAP else None
        address = address.ipv4_mapped or isatap or address.sixtofour or teredo or nat or compatible or address
    if address in METADATA or any(address in network for network in UNSAFE if network.version == address.version):
        return False
    if address.is_loopback:
        return private
    if address.is_multicast or address.is_unspecified or address.is_link_local or address.is_reserved:
        return False
    if isinstance(address, IPv6Address) and address.is_site_local:
        return private
    return address.is_global or (private and address.is_private)


def _ascii(host: str) -> str:
    """The host as name servers know it; raises UnableToCall."""
    try:
        name = host.encode("idna").decode()
    except UnicodeError:
        raise UnableToCall(f"{host[:80]!r} is no name of a host") from None
    if not name:
        raise UnableToCall("the URL names no host")
    return name.lower().removesuffix(".")
