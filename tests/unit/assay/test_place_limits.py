"""Whose limits hold for a dataset by the place that it reads, and which folders its links may not lead into."""

from dataclasses import replace
from typing import Any

import pytest

from assay.catalog.locations import Place
from assay.catalog.place_limits import NOBODY, PlacedDataset, PlaceLimits, closed_folders, limits_of, way_of_reading

LAKE, SHELF, ELSEWHERE = (
    Place(system="file", steps=steps, path="/" + "/".join(steps)) for steps in (("lake",), ("lake", "pay"), ("else",))
)
AS_IS = ("parquet",)
PAY = PlacedDataset(name="hr.pay", owner="ada", team="hr", readers=("team:board", "user:bob"), places=[(SHELF, AS_IS)])
SECRET = PlacedDataset(name="hr.mail", sensitive=frozenset({"mail"}), places=[(SHELF, AS_IS)])
OTHER = PlacedDataset(name="raw.copy", owner="eve", team="dev", places=[(LAKE, AS_IS)])


@pytest.mark.parametrize(
    ("change", "others", "limits"),
    [
        ({}, [PAY], {"readers": PAY.readers, "sources": ("hr.pay",)}),
        ({}, [replace(PAY, name="raw.copy")], {}),
        ({"places": [(ELSEWHERE, AS_IS)]}, [PAY, SECRET], {}),
        ({}, [replace(PAY, readers=())], {}),
        ({}, [replace(PAY, is_gone=True), replace(SECRET, is_pushed=True)], {}),
        ({"readers": ("user:bob",)}, [PAY], {"readers": ("user:bob",), "sources": ("hr.pay",)}),
        ({"readers": ("user:ada", "team:hr")}, [PAY], {"readers": ("user:ada", "team:hr"), "sources": ("hr.pay",)}),
        (
            {"readers": ("user:bob", "user:eve")},
            [PAY],
            {
                **{"readers": ("user:bob",), "sources": ("hr.pay",)},
                "fault": "its readers are not those of hr.pay, which lies in the same place: name the same readers",
            },
        ),
        (
            {},
            [PAY, replace(PAY, name="hr.z", readers=("user:zoe",))],
            {"readers": NOBODY, "sources": ("hr.pay", "hr.z")},
        ),
        ({}, [SECRET, PAY], {"readers": PAY.readers, "sensitive": {"mail"}, "sources": ("hr.mail", "hr.pay")}),
        ({"sensitive": frozenset({"mail"})}, [SECRET], {"sources": ("hr.mail",)}),
        (
            {"places": [(LAKE, ("csv", "a", "b"))]},
            [SECRET],
            {
                **{"sensitive": {"mail"}, "sources": ("hr.mail",)},
                "fault": "it reads the place of hr.mail, which has sensitive columns, in another way than that: "
                "name the same storage, options and columns",
            },
        ),
        (
            {"is_pushed": True, "readers": ("user:eve",)},
            [replace(PAY, is_gone=True)],
            {"owner": "ada", "team": "hr", "readers": NOBODY, "sources": ("hr.pay",)},
        ),
        (
            {"is_pushed": True},
            [PAY, replace(PAY, name="hr.z", owner="zoe")],
            {"owner": "", "team": "", "readers": PAY.readers, "sources": ("hr.pay", "hr.z")},
        ),
    ],
)
def test_a_dataset_inherits_the_limits_of_those_that_share_its_place(
    change: dict[str, Any], others: list[PlacedDataset], limits: dict[str, Any]
) -> None:
    assert limits_of(replace(OTHER, **change), others) == PlaceLimits(**{"owner": "eve", "team": "dev", **limits})


@pytest.mark.parametrize(
    ("change", "limit", "is_closed"),
    [
        ({}, PAY, True),
        ({}, SECRET, True),
        ({"readers": ("user:bob",)}, PAY, False),
        ({"readers": ("user:bob", "user:eve")}, PAY, True),
        ({"sensitive": frozenset({"mail"})}, SECRET, False),
        ({}, replace(SECRET, sensitive=frozenset()), False),
        ({}, replace(SECRET, is_gone=True), False),
        ({"is_pushed": True}, replace(SECRET, is_gone=True), True),
        ({"name": "hr.mail"}, SECRET, False),
    ],
)
def test_links_lead_into_no_folder_that_others_may_read_less_of(
    change: dict[str, Any], limit: PlacedDataset, is_closed: bool
) -> None:
    dataset = replace(OTHER, places=[(ELSEWHERE, AS_IS)], **change)
    limits = PlaceLimits(owner="eve", team="dev", readers=dataset.readers)
    assert closed_folders(dataset, limits, [limit]) == (("/lake/pay",) if is_closed else ())
    assert closed_folders(dataset, replace(limits, sources=(limit.name,)), [limit]) == ()


@pytest.mark.parametrize(
    ("storage", "options", "way"),
    [
        ("table", {"a": "b"}, ("table",)),
        ("sql", {}, ("sql",)),
        ("parquet", {"b": "1", "a": "2"}, ("parquet", "a=2", "b=1")),
        ("csv", {"header": "TRUE"}, ("csv", "header=TRUE")),
        ("csv", {}, ("csv",)),
        ("csv", {"header": "false"}, ("csv", "header=false", "x", "y")),
        ("json", {"header": "false"}, ("json", "header=false")),
    ],
)
def test_columns_are_called_as_storage_and_options_say(
    storage: str, options: dict[str, str], way: tuple[str, ...]
) -> None:
    assert way_of_reading(storage, options, ["x", "y"]) == way
