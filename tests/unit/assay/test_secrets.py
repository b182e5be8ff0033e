"""Secrets stay out of the catalog."""

import pytest

from assay.secrets import UnableToFindSecret, reveal


def test_a_named_variable_is_read_where_it_is_used() -> None:
    assert reveal("env:ORDERS_URL", {"ORDERS_URL": "sqlite:///x"}) == "sqlite:///x"
    assert reveal("/lake/trips", {}) == "/lake/trips"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(UnableToFindSecret, match="ORDERS_URL is not set"):
        reveal("env:ORDERS_URL", {})
