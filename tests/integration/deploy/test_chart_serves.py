"""docs/kubernetes.md by its own commands: the service, with the environment of its pods, judges a table in S3."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from deploy.local.fleet import FleetSize, assay, prepared
from deploy.local.programs import DEPLOY, UnableToStart, finish, free_port
from tests.integration.deploy.chart import MAIN, Manifest, environment_of, named, render, unpack_helm
from tests.integration.deploy.described import ROOT
from tests.integration.engines.stored import SECRET, put, store

PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
COMMANDS = {
    command.split()[1]: command.split()[1:] for command in re.findall(r"exec deploy/assay-worker -- (assay .*)", PAGE)
}


def values_of_page() -> str:
    """What the page writes to values.yaml."""
    (text,) = (block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "ingress:" in block)
    return str(text)


def places_of(folder: Path, manifests: list[Manifest], port: int) -> dict[str, str]:
    """Where the hosts and the mounts of the pods are on this machine; the files of the chart are written there."""
    for name, text in {"access_key": "k", "secret_key": SECRET}.items():
        (folder / "stores").mkdir(parents=True, exist_ok=True)
        (folder / "stores" / name).write_text(text)
    for name, text in (named(manifests, "ConfigMap", "files")["data"] or {}).items():
        (folder / "etc").mkdir(exist_ok=True)
        (folder / "etc" / name).write_text(text)
    (folder / "scratch").mkdir(exist_ok=True)
    return {
        "https://s3.example.com": yaml.safe_load(os.environ["ASSAY_STORES"])[0]["endpoint"],
        "https://assay.example.com": f"http://127.0.0.1:{port}",
        "assay.example.com": "127.0.0.1",
        "/run/secrets/assay": str(folder / "service" / "secrets"),
        "/run/secrets/stores": str(folder / "stores"),
        "/etc/assay": str(folder / "etc"),
        "/scratch": str(folder / "scratch"),
    }


def on_this_machine(text: str, places: dict[str, str]) -> str:
    """A text of the chart or the page with the hosts and folders of this machine."""
    for name, place in places.items():
        text = text.replace(name, place)
    return text


def test_the_page_leads_from_nothing_to_a_judged_table(tmp_path: Path) -> None:
    helm, home, port = unpack_helm(tmp_path), tmp_path / "home", free_port()
    values = yaml.safe_load(values_of_page())
    finish([assay(), "init", str(tmp_path / "shop"), "--sample"], environment={**os.environ, "ASSAY_HOME": str(home)})
    finish([str(DEPLOY / "secrets.sh"), str(home / "service" / "secrets")])
    with store() as owner:
        put(owner, tmp_path / "shop", "lake/shop")
        manifests = render(helm, values)
        places = places_of(home, manifests, port)
        variables = {key: on_this_machine(text, places) for key, text in environment_of(manifests, "worker").items()}
        init = [on_this_machine(argument, places) for argument in COMMANDS["init"]]
        finish([assay(), *init], environment={**os.environ, **variables})

        catalog = home / "scratch" / "catalog.yaml"
        path = "settings.ASSAY_CATALOG_PATH=/etc/assay/catalog.yaml"
        manifests = render(helm, values, "--set-file", rf"files.catalog\.yaml={catalog}", "--set", path)
        places = places_of(home, manifests, port)
        pods = [environment_of(manifests, name) for name in MAIN]
        assert all(pod == pods[0] for pod in pods)  # so that one environment serves all processes here
        variables = {key: on_this_machine(text, places) for key, text in pods[0].items()}
        size = FleetSize(datacenters=("local",), concurrency=1)
        with prepared(home=home, size=size, environment=variables, web_port=port) as service:
            service.start()
            for name in ("sync", "doctor", "run", "gate"):
                service.assay(*(on_this_machine(argument, places) for argument in COMMANDS[name]))
            with urlopen(f"{service.web_url}/readyz", timeout=10) as answer:
                assert answer.status == 200
            day = f"day={datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
            put(owner, tmp_path / "shop" / "orders" / day, f"lake/shop/orders/{day}/again")
            with pytest.raises(UnableToStart, match=r"duplicates\S* .*broken"):
                service.assay(*COMMANDS["run"])
