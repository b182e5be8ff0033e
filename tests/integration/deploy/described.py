"""What deploy/ says, read by real parsers."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import promql_parser as promql
import yaml
from dockerfile_parse import DockerfileParser

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


def compose() -> dict[str, Any]:
    """The Compose file, its anchors resolved."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


def services() -> dict[str, dict[str, Any]]:
    """The services of the Compose file by name."""
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def ours() -> dict[str, dict[str, Any]]:
    """The services that run our image."""
    return {name: each for name, each in services().items() if each["image"].startswith("assay:")}


def secrets_of(service: dict[str, Any]) -> set[str]:
    """The names under which a service finds its secrets in /run/secrets."""
    return {each if isinstance(each, str) else each["target"] for each in service.get("secrets", [])}


def dockerfile() -> list[tuple[str, str]]:
    """The Dockerfile's instructions and what follows them, in order."""
    parser = DockerfileParser(fileobj=BytesIO((DEPLOY / "Dockerfile").read_bytes()))
    return [(each["instruction"], each["value"]) for each in parser.structure]


def rules() -> dict[str, Any]:
    """Prometheus' rules."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())
    return loaded


def panels() -> list[dict[str, Any]]:
    """The dashboard's panels."""
    loaded: list[dict[str, Any]] = json.loads((DEPLOY / "grafana/dashboards/assay.json").read_text())["panels"]
    return loaded


def expressions() -> list[str]:
    """Every expression of the rules and the dashboard."""
    alerts = [rule["expr"] for group in rules()["groups"] for rule in group["rules"]]
    return alerts + [target["expr"] for panel in panels() for target in panel["targets"]]


def selectors(expression: str) -> Iterator[promql.VectorSelector]:
    """The series that an expression reads; ValueError, as of any parser, if it is no PromQL."""
    found: list[promql.VectorSelector] = []

    def note(node: promql.Expr) -> None:
        if isinstance(node, promql.VectorSelector):
            found.append(node)

    promql.walk(promql.parse(expression), pre_visit=note)
    return iter(found)
