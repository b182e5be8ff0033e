"""Prometheus' rules and Grafana's dashboard read figures that the service gives."""

import re
from typing import Any, Literal

import promql_parser as promql
import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel, ConfigDict, Field

from assay.models import Tallied
from assay.queue.claims import tally
from tests.integration.deploy.described import DEPLOY, ROOT, expressions, panels, rules, selectors, services

PROVISIONED = DEPLOY / "grafana" / "provisioning"
GIVEN_BY_PROMETHEUS = {"up"}
MOST_COLUMNS = 24  # of a dashboard


class Strict(BaseModel):
    """Refuses whatever it does not name, as Prometheus does."""

    model_config = ConfigDict(extra="forbid")


class Labels(Strict):
    severity: Literal["warning", "critical"]


class Annotations(Strict):
    summary: str = Field(min_length=1)
    description: str = Field(min_length=1)
    runbook_url: str


class Alert(Strict):
    alert: str = Field(pattern=r"^Assay[A-Z]\w+$")
    expr: str
    wait: str | None = Field(alias="for", default=None)
    labels: Labels
    annotations: Annotations


class Group(Strict):
    name: str
    rules: list[Alert]


class Rules(Strict):
    groups: list[Group]


class Global(Strict):
    scrape_interval: str
    scrape_timeout: str
    evaluation_interval: str


class Targets(Strict):
    targets: list[str]


class Job(Strict):
    job_name: str
    static_configs: list[Targets]


class Prometheus(Strict):
    settings: Global = Field(alias="global")
    rule_files: list[str]
    scrape_configs: list[Job]


ALERTS = [rule for group in Rules.model_validate(rules()).groups for rule in group.rules]
CONFIGURED = Prometheus.model_validate(yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text()))


@pytest.fixture
def given(client: Client, db: None) -> dict[str, list[dict[str, str]]]:
    """The labels of the samples of each metric that the service gives."""
    for kind in (Tallied.SCANS, Tallied.SCANS_FAILED, Tallied.SCAN_SECONDS):
        tally(kind, "sea")
    families = text_string_to_metric_families(client.get("/metrics").content.decode())
    total = {"counter": "_total"}
    return {
        family.name + total.get(family.type, ""): [sample.labels for sample in family.samples] for family in families
    }


def provisioned(kind: str) -> list[dict[str, Any]]:
    """What Grafana is given at its start."""
    (path,) = (PROVISIONED / kind).iterdir()
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text())[{"dashboards": "providers"}.get(kind, kind)]
    return found


def labels_read(expression: str) -> set[str]:
    """The labels that an expression groups by."""
    return {label for group in re.findall(r"by \((.*?)\)", expression) for label in group.split(", ")}


@pytest.mark.parametrize("expression", expressions())
def test_expressions_read_metrics_and_labels_that_are_given(
    expression: str, given: dict[str, list[dict[str, str]]]
) -> None:
    for selector in selectors(expression):
        if selector.name not in GIVEN_BY_PROMETHEUS:
            told = {matcher.name: matcher.value for matcher in selector.matchers.matchers}
            assert selector.name in given
            assert any(told.items() <= sample.items() for sample in given[selector.name]) or not told
            assert all(labels_read(expression) <= sample.keys() for sample in given[selector.name])


def test_a_metric_that_is_not_given_is_seen(given: dict[str, list[dict[str, str]]]) -> None:
    (selector,) = selectors("max(assay_queue_pending) > 3")
    assert selector.name not in given


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.alert)
def test_every_alert_leads_to_what_to_do(alert: Alert) -> None:
    page, _, anchor = alert.annotations.runbook_url.partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert anchor == alert.alert.lower()
    assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.alert)
def test_alerts_speak_of_labels_that_their_result_has(alert: Alert) -> None:
    spoken = re.findall(r"\$labels\.(\w+)", alert.annotations.summary + alert.annotations.description)
    assert set(spoken) <= labels_read(alert.expr) | ({"instance"} if alert.expr.startswith("up{") else set())
    assert alert.wait is None or 0 < promql.parse_duration(alert.wait).total_seconds() <= 600


def test_alerts_have_names_of_their_own() -> None:
    assert len({alert.alert for alert in ALERTS}) == len(ALERTS) == 9


def test_the_jobs_that_rules_name_are_scraped_from_services_that_listen() -> None:
    jobs = {job.job_name: target for job in CONFIGURED.scrape_configs for target in job.static_configs}
    matchers = [each for text in expressions() for found in selectors(text) for each in found.matchers.matchers]
    assert {each.value for each in matchers if each.name == "job"} == {"assay"}
    assert [target.split(":")[0] in services() for target in jobs["assay"].targets] == [True]
    assert [path for path in CONFIGURED.rule_files if not (DEPLOY / "prometheus" / path).exists()] == []


def test_the_dashboard_asks_the_source_that_is_provisioned() -> None:
    (source,) = provisioned("datasources")
    asked = {part["datasource"]["uid"] for panel in panels() for part in (panel, *panel["targets"])}
    assert asked == {source["uid"]}
    assert source["url"].removeprefix("http://").split(":")[0] in services()


def test_the_dashboard_is_mounted_where_grafana_looks_for_it() -> None:
    (provider,) = provisioned("dashboards")
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in services()["grafana"]["volumes"]


def test_panels_have_ids_of_their_own_and_do_not_lie_on_each_other() -> None:
    cells = [
        (column, row)
        for place in (panel["gridPos"] for panel in panels())
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len({panel["id"] for panel in panels()}) == len(panels())
    assert len(set(cells)) == len(cells)
    assert max(column for column, _ in cells) < MOST_COLUMNS
