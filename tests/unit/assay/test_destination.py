"""Which URLs and addresses may be called at all."""

import pytest

from assay.destination import UnableToCall, destination, is_permitted, judged, rules_for

HOOK = "https://hooks.example.com/assay?team=trips"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.8",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
    ],
)
def test_only_addresses_of_the_public_internet_may_be_connected_to(address: str) -> None:
    assert not is_permitted(address, private=False)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_permitted(address: str) -> None:
    assert is_permitted(address, private=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.8", "fc00::1", "8.8.8.8"])
def test_in_private_one_may_call_oneself_and_ones_neighbours(address: str) -> None:
    assert is_permitted(address, private=True)


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "0.0.0.0"])
def test_even_in_private_nobody_calls_the_metadata_service(address: str) -> None:
    assert not is_permitted(address, private=True)


def test_one_bad_address_among_good_ones_refuses_the_name() -> None:
    rules = rules_for(HOOK)
    assert judged(["8.8.8.8", "8.8.4.4"], rules) == ["8.8.8.8", "8.8.4.4"]
    with pytest.raises(UnableToCall, match=r"leads to 127\.0\.0\.1"):
        judged(["8.8.8.8", "127.0.0.1"], rules)
    with pytest.raises(UnableToCall, match="no address"):
        judged([], rules)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.com/", "use https"),
        ("gopher://hooks.example.com/", "use https"),
        ("file:///etc/passwd", "use https"),
        ("hooks.example.com", "use https"),
        ("https://a@hooks.example.com/", "name or password"),
        ("https://hooks.example.com@127.0.0.1/", "name or password"),
        ("https://hooks.example.com:6379/", "not among the permitted hosts"),
        ("https://127.0.0.1/", "not among the permitted hosts"),
        ("https://hooks.example.com.evil.org/", "not among the permitted hosts"),
        ("https:///assay", "names no host"),
        ("https://hooks.example.com:99999/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://hooks.example.com/\r\nX-Evil: 1", "cannot be printed"),
        ("https://hooks.example.com\\@127.0.0.1/", "backslash"),
        ("https://hooks.example.com/a b", "space"),
        ("https://hooks.example.com/für", "beyond ASCII"),
        (f"https://{'a' * 64}.example.com/", "no name of a host"),
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
