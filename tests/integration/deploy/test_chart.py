"""The chart of Kubernetes: what it renders is valid, and runs what compose.yaml runs."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.urls import resolve
from kubernetes_validate import ValidationError, validate

from assay.config import Config
from tests.integration.deploy.chart import (
    CHART,
    MAIN,
    Manifest,
    environment_of,
    named,
    pod_of,
    render,
    secrets_of,
    unpack_helm,
)
from tests.integration.deploy.described import secrets_of as secrets_of_service
from tests.integration.deploy.described import services

OLDEST, NEWEST = "1.29", "1.37"  # of Kubernetes
STATES = {"ASSAY_STATE_STORE": "s3://quality/states"}
SECONDS = {"30s": 30, "1m": 60, "2m": 120}
MORE_CHANNELS = {
    f"assay_{name}" for name in ("slack_token", "pagerduty_keys", "teams_urls", "apprise_urls", "openlineage_key")
}
IN_FULL: dict[str, Any] = {
    "image": {"repository": "registry.example.com/assay", "tag": "7", "pullSecrets": [{"name": "registry"}]},
    "storeSecret": "lake-keys",
    "settings": {
        **STATES,
        "ASSAY_PUBLIC_URL": "https://assay.example.com:8443/",
        "ASSAY_ALLOWED_HOSTS": ["assay.example.com"],
        "ASSAY_BODY_BYTES": 12_345_678,
        "ASSAY_SPARK_CONF": {"spark.executor.instances": 4, "spark.kubernetes.namespace": "assay"},
        "ASSAY_RATES": {"gate": "6000/m"},
        "ASSAY_STORES": [{"prefix": "s3://lake", "endpoint": "http://minio:9000", "region": "eu"}],
        "ASSAY_WEBHOOK_PRIVATE": True,
    },
    "files": {"catalog.yaml": "datasets: []\n"},
    "sparkExecutors": True,
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/assay"}},
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"a/b": "c"}, "tlsSecret": "assay-tls"},
}


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def plain(helm: Path) -> list[Manifest]:
    """As the chart's own values have it."""
    return render(helm, {"settings": STATES})


@pytest.fixture(scope="module")
def full(helm: Path) -> list[Manifest]:
    """With everything that the chart can make."""
    return render(helm, IN_FULL)


def test_helm_finds_nothing_wrong_in_it(helm: Path) -> None:
    states = [f"--set=settings.{name}={value}" for name, value in STATES.items()]
    subprocess.run([helm, "lint", "--strict", CHART, *states], check=True, capture_output=True)


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_object_is_as_kubernetes_wants_it(version: str, plain: list[Manifest], full: list[Manifest]) -> None:
    for manifest in (*plain, *full):
        validate(manifest, version, strict=True)
    kinds = {manifest["kind"] for manifest in full}
    assert kinds > {manifest["kind"] for manifest in plain} > {"Deployment", "Job", "Service", "PodDisruptionBudget"}
    wrong = named(plain, "Deployment", "web") | {"spec": {"replica": 2}}
    with pytest.raises(ValidationError):
        validate(wrong, version, strict=True)


@pytest.mark.parametrize("name", [*MAIN, "migrate"])
def test_a_pod_runs_what_compose_runs_and_sees_the_same_secrets(name: str, full: list[Manifest]) -> None:
    (container,), service = pod_of(full, name)["containers"], services()[name.replace("local", "sea")]
    assert container["command"] == [text.replace("assay.sea", "assay.local") for text in service["command"]]
    secrets = secrets_of_service(service) | (MORE_CHANNELS if name in ("web", "worker") else set())
    assert set(secrets_of(full, name)) == secrets
    assert ("assay_owner_database_url" in secrets_of(full, name).values()) == (name == "migrate")
    if name != "migrate":
        assert pod_of(full, name)["terminationGracePeriodSeconds"] == SECONDS[service["stop_grace_period"]]


@pytest.mark.parametrize("name", [*MAIN, "migrate"])
def test_a_pod_is_nobody_special_and_writes_only_to_its_volumes(name: str, full: list[Manifest]) -> None:
    pod = pod_of(full, name)
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert mounts == {"/scratch"}
    variables = environment_of(full, name)
    assert {variables["ASSAY_HOME"], variables["TMPDIR"]} == {"/scratch"}


def test_only_scanners_may_start_executors(plain: list[Manifest], full: list[Manifest]) -> None:
    for manifests, scanners in ((plain, []), (full, ["worker-local"])):
        pods = [name for name in (*MAIN, "migrate") if pod_of(manifests, name)["automountServiceAccountToken"]]
        assert pods == scanners
    assert {m["kind"] for m in full} - {m["kind"] for m in plain} == {"Role", "RoleBinding", "Ingress"}


def test_the_probes_ask_for_pages_that_there_are_by_a_name_that_is_allowed(full: list[Manifest]) -> None:
    (container,) = pod_of(full, "web")["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        request = container[probe]["httpGet"]
        assert resolve(request["path"])
        assert request["httpHeaders"] == [{"name": "Host", "value": "assay.example.com"}]
    assert named(full, "Ingress", "web")["spec"]["rules"][0]["host"] == "assay.example.com"


@pytest.mark.parametrize("name", MAIN)
def test_settings_arrive_as_they_were_written(name: str, full: list[Manifest], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in environment_of(full, name).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("ASSAY_SECRETS_DIR")
    read = Config()
    assert (read.body_bytes, read.rates, read.webhook_private) == (12_345_678, {"gate": "6000/m"}, True)
    assert [(store.prefix, store.region) for store in read.object_stores] == [("s3://lake", "eu")]
    assert read.spark_settings == {"spark.executor.instances": "4", "spark.kubernetes.namespace": "assay"}
    assert (read.allowed_hosts, read.states) == (["assay.example.com"], "s3://quality/states")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "ASSAY_STATE_STORE"),
        ({"settings": {"ASSAY_STATE_STORE": "/states"}}, "ASSAY_STATE_STORE"),
        ({"settings": STATES | {"ASSAY_SECRET_KEY": "x"}}, "ASSAY_SECRET_KEY"),
        ({"settings": STATES | {"ASSAY_SPARK_MASTERS": "x"}}, "ASSAY_SPARK_MASTERS"),
        ({"settings": STATES, "setting": {}}, "setting"),
        ({"settings": STATES | {"ASSAY_PUBLIC_URL": "assay.example.com"}}, "ASSAY_PUBLIC_URL"),
        ({"settings": STATES, "scanners": [{"datacenter": "Sea Side", "replicas": 1, "resources": {}}]}, "datacenter"),
    ],
)
def test_values_that_mean_nothing_are_refused_by_name(helm: Path, values: dict[str, Any], name: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render(helm, values)
    assert name in refused.value.stderr


def test_chart_and_project_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert {chart["version"], chart["appVersion"]} == {services()["web"]["image"].rpartition(":-")[2].rstrip("}")}
