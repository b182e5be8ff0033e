"""Pipelines that are bound to tests: told in a catalog, and what their gate answers."""

from dataclasses import replace
from typing import Any

import pytest

from assay.catalog.profile import BindingProfile, CatalogProfile
from assay.models import Binding, DataTest
from incident_manager.services import gate
from test_generator.services import UnableToWrite, sync
from test_generator.sync import idle_bindings
from tests.factories import HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.integration.story import due, fail, new_test, result, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")


def told(*bindings: BindingProfile, source: str = "etl") -> tuple[str, ...]:
    """What changed by a sync of these bindings."""
    return sync(CatalogProfile(bindings=bindings), source=source, now=NOW).bindings


def binding(test: DataTest, gate: Any, pipeline: str = "load", **more: Any) -> BindingProfile:
    name = test.dataset.full_name
    return BindingProfile(**{"pipeline": pipeline, "dataset": name, "test": test.name, "gate": gate, **more})


def asked(test: DataTest, pipeline: str = "") -> str:
    return gate(datasets=[test.dataset], window=MONDAY, pipeline=pipeline, now=due(MONDAY) + HOUR).decision


@pytest.mark.parametrize(
    ("severity", "strength", "others", "own"), [("hard", "weak", "block", "warn"), ("soft", "strong", "warn", "block")]
)
def test_a_binding_decides_for_its_pipeline_alone_with_an_incident_and_before_one(
    severity: str, strength: str, others: str, own: str
) -> None:
    start(due(MONDAY))
    test = new_test(severity=severity, sustain=4 * HOUR)
    told(binding(test, strength))
    result(test, MONDAY, "broken", due(MONDAY))
    assert [asked(test, pipeline) for pipeline in ("", "Load", "report", "load")] == [others, others, others, own]
    failing = new_test(dataset=test.dataset, severity=severity, sustain=0 * HOUR)
    told(binding(test, strength), binding(failing, strength))
    fail(failing, MONDAY)
    assert (asked(test), asked(test, "load")) == (others, own)
    told(binding(test, strength))
    assert asked(test, "load") == "block"  # of two tests that are bad, the stricter one decides


def test_the_bindings_of_a_source_are_those_that_it_tells() -> None:
    test, other = DataTestFactory.create(name="a"), DataTestFactory.create(name="b")
    assert told(binding(test, "weak"), binding(other, "strong")) == (
        f"load → {test.dataset}: a (weak)",
        f"load → {other.dataset}: b (strong)",
    )
    first = Binding.objects.get(test="a").pk
    assert told(binding(test, "strong", dataset=test.dataset.full_name.upper())) == (
        f"load → {test.dataset}: a (strong)",
        f"load → {other.dataset}: b (gone)",
    )
    assert list(Binding.objects.values_list("pk", "test", "strength")) == [(first, "a", "strong")]
    told(binding(other, "weak"), source="other")
    told()
    assert list(Binding.objects.values_list("test", "source")) == [("b", "other")]


def test_bindings_that_cannot_be_written_are_told_and_nothing_is_kept() -> None:
    test = DataTestFactory.create(name="a", dataset=DatasetFactory.create(name="trips"))
    told(binding(test, "weak"))
    wrong = binding(test, "weak", dataset="raw.none", place="c.yaml:9")
    with pytest.raises(UnableToWrite) as raised:
        told(binding(test, "strong"), wrong, source="other")
    assert str(raised.value).splitlines() == [
        "binding of 'load' to raw.trips, test 'a': the source 'etl' has it: keep it in one of the two",
        "c.yaml:9: binding of 'load' to raw.none, test 'a': the catalog has no dataset 'raw.none'; tell of it first",
    ]
    assert Binding.objects.get().strength == "weak"


def test_a_binding_to_a_test_that_is_not_live_is_idle() -> None:
    live, ended = DataTestFactory.create(name="a"), DataTestFactory.create(name="b", retired_at=NOW)
    told(binding(live, "weak"), binding(ended, "weak"), replace(binding(live, "weak"), test="c"))
    assert [row.test for row in idle_bindings("etl")] == ["b", "c"]
