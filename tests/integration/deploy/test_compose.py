"""The Compose file is one, and what it starts exists."""

import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import jsonschema
import pyspark
import pytest
from celery.bin.worker import worker
from check_jsonschema.builtin_schemas import get_builtin_schema
from django.core.management import get_commands
from gunicorn.config import Config as GunicornConfig

from assay.celery import app, queue_name
from assay.config import Config
from assay.queue.flow import stage
from assay.spark_conf import CONSISTENT, SAFE
from execution_engine.engines.spark.session import CONNECT_PORT
from tests.integration.deploy.described import DEPLOY, compose, ours, secrets_of, services

SETTINGS = {f"ASSAY_{name.upper()}" for name in Config.model_fields}
NAMES = sorted(services())
OURS = sorted(ours())


def commands(program: str) -> list[list[str]]:
    """The arguments of every service that runs this program of our image."""
    return [each["command"][1:] for each in ours().values() if each["command"][0] == program]


def test_it_is_what_the_compose_specification_says() -> None:
    schema = get_builtin_schema("vendor.compose-spec")
    jsonschema.validate(compose(), schema, cls=jsonschema.validators.validator_for(schema))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"services": {"web": {"restarts": "always"}}}, schema)


@pytest.mark.parametrize("name", NAMES)
def test_every_image_has_a_version(name: str) -> None:
    tag = services()[name]["image"].partition(":")[2]
    assert re.match(r"v?\d|\$\{ASSAY_VERSION:-\d", tag)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"migrate"}))
def test_every_process_that_ends_is_started_again_and_may_write_only_where_it_is_told(name: str) -> None:
    assert services()[name]["restart"] == "unless-stopped"
    assert services()[name]["read_only"] is True
    assert "no-new-privileges:true" in services()[name]["security_opt"]


def test_nothing_starts_before_the_tables_are_there() -> None:
    for name in {*OURS} - {"migrate", "spark"}:
        assert ours()[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert ours()["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert ours()["migrate"]["restart"] == "on-failure:5"


@pytest.mark.parametrize("arguments", commands("assay"), ids=" ".join)
def test_commands_of_assay_exist(arguments: list[str]) -> None:
    assert arguments[0] in get_commands()


@pytest.mark.parametrize("arguments", commands("celery"), ids=" ".join)
def test_workers_take_the_queues_that_are_written_to(arguments: list[str]) -> None:
    assert arguments[:3] == ["-A", "assay.celery", "worker"]
    told = worker.make_context("worker", arguments[3:], obj=SimpleNamespace(app=app)).params
    assert told["queues"] in (["assay"], [queue_name(stage("scan"), "sea")])
    assert told["concurrency"] == 4


def test_gunicorn_serves_our_application() -> None:
    (arguments,) = commands("gunicorn")
    (application,) = GunicornConfig().parser().parse_args(arguments).args
    assert application == "web.wsgi:application"  # test_database_away.py starts it in a process of its own


def test_spark_starts_a_class_that_pyspark_brings() -> None:
    (arguments,) = commands("spark-submit")
    wanted = next(each for each in arguments if each.startswith("--class=")).removeprefix("--class=")
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-connect_*.jar")
    assert f"{wanted.replace('.', '/')}.class" in ZipFile(jar).namelist()


@pytest.mark.parametrize("program", sorted({each["command"][0] for each in ours().values()}))
def test_every_program_comes_with_our_packages(program: str) -> None:
    assert shutil.which(program, path=str(Path(sys.executable).parent))


@pytest.mark.parametrize("name", OURS)
def test_every_variable_of_ours_is_a_setting(name: str) -> None:
    variables = {each for each in ours()[name]["environment"] if each.startswith("ASSAY_")}
    assert variables - SETTINGS == set()


@pytest.mark.parametrize("name", OURS)
def test_every_secret_of_ours_is_read_as_a_setting(name: str) -> None:
    assert {each.upper() for each in secrets_of(ours()[name])} - SETTINGS == set()


def test_only_the_migration_may_change_tables_and_spark_knows_no_secret() -> None:
    owners = [name for name, each in services().items() if "assay_owner_database_url" in json.dumps(each)]
    assert owners == ["migrate"]
    assert secrets_of(services()["spark"]) == set()


def test_users_sql_in_spark_reaches_neither_the_database_nor_the_world() -> None:
    networks = compose()["networks"]
    assert services()["spark"]["networks"] == ["spark"]
    assert networks["spark"]["internal"]
    assert "spark" not in {*services()["database"]["networks"], *services()["redis"]["networks"]}


def test_the_connect_server_is_as_safe_as_our_own_sessions() -> None:
    lines = (DEPLOY / "spark" / "spark-defaults.conf").read_text().splitlines()
    told = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    assert {**SAFE, **CONSISTENT}.items() <= told.items()
    assert told["spark.connect.grpc.binding.port"] == str(CONNECT_PORT)


def test_the_web_answers_to_those_who_ask_for_it_by_name() -> None:
    allowed = json.loads(services()["web"]["environment"]["ASSAY_ALLOWED_HOSTS"])
    assert {"127.0.0.1", "web"} <= set(allowed)  # the image's health check, and Prometheus


def test_ports_are_published_to_this_machine_alone() -> None:
    published: list[Any] = [port for each in services().values() for port in each.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_mounted_from_here_exists(name: str) -> None:
    mounts = [each.split(":")[0] for each in services()[name].get("volumes", []) if each.startswith("./")]
    assert [path for path in mounts if not (DEPLOY / path).exists()] == []
