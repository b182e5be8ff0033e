"""Which URLs and addresses may be called at all."""

import pytest

from assay.edge.destination import (
    Destination,
    DestinationRules,
    UnableToCall,
    destination,
    is_permitted,
    judged,
    rules_for,
)

HOOK = "https://hooks.example.com/assay?team=trips"


NEVER = [
    "192.0.0.192", "192.0.0.1", "192.0.0.255", "192.88.99.1", "::ffff:192.0.0.192", "3fff::1", "3fff:fff:ffff::1",
    "fd00:ec2::254", "fd00:ec2:0:0:0:0:0:254", "fd20:ce::254", "100.100.100.200", "169.254.169.254",
    "::ffff:169.254.169.254", "2002:a9fe:a9fe::1", "64:ff9b::a9fe:a9fe", "fe80::5efe:a9fe:a9fe",
    "2001:db8::5efe:a9fe:a9fe", "2606:4700::5efe:a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "100::1", "5f00::1", "0.0.0.0",
    "::", "224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255", "fe80::1", "fe80::1%eth0",
]  # fmt: skip
PRIVATE = [
    "127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "fd12::1", "fc00::1", "fec0::1",
    "::ffff:10.0.0.1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:7f00:1", "2606:4700::5efe:a00:1",
    "2002:7f00:1::1", "64:ff9b::7f00:1", "::127.0.0.1",
]  # fmt: skip
NOT_PUBLIC = [
    "100.64.0.1", "198.18.0.1", "::ffff:127.0.0.1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:80ff:fffe", "::2",
    "::1:0:0", "::a00:8", "fe80::1%a%b",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1", "192.0.1.1", "192.88.98.1", "192.88.100.1", "2606:4700::1111", "2606:4700::1111%eth0",
    "2606:4700::5efe:101:101", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::", "::8.8.8.8",
    "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
]  # fmt: skip


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_never_called_however_they_are_wrapped(address: str) -> None:
    assert not is_permitted(address, private=False)
    assert not is_permitted(address, private=True)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_ones_are_called_where_that_is_permitted(address: str) -> None:
    assert (is_permitted(address, private=False), is_permitted(address, private=True)) == (False, True)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_only_addresses_of_the_public_internet_may_be_connected_to(address: str) -> None:
    assert not is_permitted(address, private=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_permitted(address: str) -> None:
    assert is_permitted(address, private=False)


def test_in_private_public_addresses_are_permitted_too() -> None:
    assert is_permitted("8.8.8.8", private=True)


def test_one_bad_address_among_good_ones_refuses_the_name() -> None:
    rules = rules_for(HOOK)
    assert judged(["8.8.8.8", "8.8.4.4"], rules) == ["8.8.8.8", "8.8.4.4"]
    with pytest.raises(UnableToCall) as refused:
        judged(iter(["8.8.8.8", "127.0.0.1", "10.0.0.8"]), rules)
    assert str(refused.value) == (
        "the name leads to 127.0.0.1, 10.0.0.8, which is not an address of the public Internet"
    )
    with pytest.raises(UnableToCall, match="the name has no address"):
        judged([], rules)


def test_in_private_a_name_may_lead_to_a_neighbour() -> None:
    assert judged(["10.0.0.8", "8.8.8.8"], rules_for(HOOK, permits_private=True)) == ["10.0.0.8", "8.8.8.8"]


PASSWORD = "^a name or password in the URL is not permitted: they are shown wherever the URL is$"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.com/", "^http is not permitted: use https$"),
        ("gopher://hooks.example.com/", "^gopher is not permitted: use https$"),
        ("file:///etc/passwd", "^file is not permitted: use https$"),
        ("hooks.example.com", "^a URL without a scheme is not permitted: use https$"),
        (
            "https://hooks.example.com:444/",
            "^hooks.example.com:444 is not among the permitted hosts: hooks.example.com$",
        ),
        ("https://a@hooks.example.com/", PASSWORD),
        ("https://hooks.example.com@127.0.0.1/", PASSWORD),
        ("https://127.0.0.1/", "not among the permitted hosts"),
        ("https://hooks.example.com.evil.org/", "not among the permitted hosts"),
        ("https:///assay", "^the URL names no host$"),
        ("https://hooks.example.com:99999/", "^the URL cannot be read: Port out of range 0-65535$"),
        ("https://[::1/", "cannot be read"),
        (
            "https://hooks.example.com/\r\nX-Evil: 1",
            "^the URL holds a space, a backslash or a character that cannot be printed$",
        ),
        ("https://hooks.example.com\\@127.0.0.1/", "backslash"),
        ("https://hooks.example.com/a b", "space"),
        ("https://hooks.example.com/für", "^the URL's path holds characters beyond ASCII: write them as %XX$"),
        (f"https://{'a' * 64}.example.com/", "^'a{64}.example.com' is no name of a host$"),
    ],
)
def test_a_url_that_may_lead_elsewhere_is_refused_before_its_name_is_resolved(url: str, why: str) -> None:
    with pytest.raises(UnableToCall, match=why):
        destination(url, rules_for(HOOK))


def test_the_own_host_of_the_url_is_permitted_on_the_port_of_https() -> None:
    found = destination(HOOK, rules_for(HOOK))
    assert (found.host, found.port, found.target) == ("hooks.example.com", 443, "/assay?team=trips")
    assert found.named == "hooks.example.com"


def test_other_hosts_and_ports_are_permitted_where_they_are_listed() -> None:
    rules = rules_for(HOOK, ["Hooks.Example.com:8443", "münchen.example.com".encode("idna").decode()])
    assert destination("https://HOOKS.example.com.:8443/", rules).named == "hooks.example.com:8443"
    assert destination("https://münchen.example.com/", rules).host == "xn--mnchen-3ya.example.com"
    with pytest.raises(UnableToCall, match="not among"):
        destination(HOOK, rules)


def test_in_private_http_on_any_port_will_do() -> None:
    url = "http://[::1]:8080/"
    assert destination(url, rules_for(url, permits_private=True)).named == "[::1]:8080"


@pytest.mark.parametrize(
    ("url", "parts", "named"),
    [
        ("https://hooks.example.com", ("https", "hooks.example.com", 443, "/"), "hooks.example.com"),
        ("HTTP://Hooks.Example.com?a=1", ("http", "hooks.example.com", 80, "/?a=1"), "hooks.example.com"),
        (
            "http://hooks.example.com:443/x/y;z?a=1&b=%C3%BC#part",
            ("http", "hooks.example.com", 443, "/x/y;z?a=1&b=%C3%BC"),
            "hooks.example.com:443",
        ),
        ("https://[2606:4700::1111]/", ("https", "2606:4700::1111", 443, "/"), "[2606:4700::1111]"),
    ],
)
def test_a_url_is_taken_apart(url: str, parts: tuple[str, str, int, str], named: str) -> None:
    found = destination(url, rules_for(url, permits_private=True))
    scheme, host, port, target = parts
    assert found == Destination(scheme=scheme, host=host, port=port, target=target)
    assert (found.named, found.is_encrypted) == (named, scheme == "https")


def test_rules_name_the_hosts_that_are_listed_or_else_the_urls_own() -> None:
    assert rules_for(HOOK) == DestinationRules(hosts=frozenset({"hooks.example.com"}), permits_private=False)
    assert rules_for("https://MÜNCHEN.example.com./x").hosts == {"xn--mnchen-3ya.example.com"}
    assert rules_for(HOOK, ["A.example.com", "b:8443"], permits_private=True) == DestinationRules(
        hosts=frozenset({"a.example.com", "b:8443"}), permits_private=True
    )
    assert [rules_for(url).hosts for url in ("https://[::1/", "https:///x", f"https://{'a' * 64}/")] == [{""}] * 3


def test_a_host_that_is_not_listed_is_told_with_those_that_are() -> None:
    with pytest.raises(UnableToCall) as refused:
        destination("https://c.example.com/", rules_for(HOOK, ["b.example.com:8443", "a.example.com"]))
    assert str(refused.value) == (
        "c.example.com:443 is not among the permitted hosts: a.example.com, b.example.com:8443"
    )


def test_a_host_that_is_listed_with_a_port_is_not_called_on_another() -> None:
    rules = rules_for(HOOK, ["hooks.example.com:8443"], permits_private=True)
    assert destination("https://hooks.example.com:8443/", rules).port == 8443
    with pytest.raises(UnableToCall, match="not among"):
        destination("https://hooks.example.com:8444/", rules)


def test_no_more_of_a_hosts_name_is_told_than_fits() -> None:
    with pytest.raises(UnableToCall) as refused:
        destination(f"https://{'a' * 100}/", rules_for(HOOK))
    assert str(refused.value) == f"'{'a' * 80}' is no name of a host"
