"""Addresses that are special, however they are wrapped, are not called."""

import pytest

from assay.edge.destination import is_permitted

NEVER = [
    "192.0.0.192", "192.0.0.1", "192.0.0.255", "192.88.99.1", "::ffff:192.0.0.192", "3fff::1", "3fff:fff:ffff::1",
    "fd00:ec2::254", "fd00:ec2:0:0:0:0:0:254", "fd20:ce::254", "100.100.100.200", "169.254.169.254",
    "::ffff:169.254.169.254", "2002:a9fe:a9fe::1", "64:ff9b::a9fe:a9fe", "fe80::5efe:a9fe:a9fe",
    "2001:db8::5efe:a9fe:a9fe", "2606:4700::5efe:a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "100::1", "5f00::1", "0.0.0.0",
    "::",    "224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255", "fe80::1%eth0",
]  # fmt: skip
PRIVATE = [
    "127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "fd12::1", "::ffff:10.0.0.1",
    "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:7f00:1", "2606:4700::5efe:a00:1", "2002:7f00:1::1",
    "64:ff9b::7f00:1", "::127.0.0.1",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "192.0.1.1", "192.88.98.1", "192.88.100.1", "2606:4700::1111", "2606:4700::5efe:101:101"]


@pytest.mark.parametrize("address", NEVER)
def test_some_are_never_called(address: str) -> None:
    assert not is_permitted(address, private=False)
    assert not is_permitted(address, private=True)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_ones_are_called_where_that_is_permitted(address: str) -> None:
    assert (is_permitted(address, private=False), is_permitted(address, private=True)) == (False, True)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_ones_are_called(address: str) -> None:
    assert is_permitted(address, private=False)
