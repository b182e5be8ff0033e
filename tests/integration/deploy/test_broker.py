"""Redis runs with our settings: it asks for the password, keeps what it was given, and never drops it in silence."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from deploy.local.programs import free_port
from deploy.local.servers import Broker
from tests import servers
from tests.integration.deploy.described import DEPLOY


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A folder of secrets as an operator makes it."""
    subprocess.run([str(DEPLOY / "secrets.sh"), str(tmp_path / "secrets")], check=True)
    return tmp_path / "secrets"


@pytest.fixture
def broker(secrets: Path, tmp_path: Path) -> Iterator[redis.Redis]:
    """A client, with the URL that the services read, of a Redis with our settings."""
    server = Broker(folder=tmp_path / "data", port=free_port(), secrets=secrets)
    server.install()
    url = (secrets / "assay_broker_url").read_text().strip().replace("@redis:6379", f"@127.0.0.1:{server.port}")
    client = redis.Redis.from_url(url, decode_responses=True)
    with servers.running(server.command(), ready=server.is_ready):
        yield client
    client.close()


def test_strangers_are_asked_for_the_password(broker: redis.Redis) -> None:
    stranger = redis.Redis(port=broker.connection_pool.connection_kwargs["port"])
    with pytest.raises(redis.AuthenticationError):
        stranger.ping()
    stranger.close()


def test_what_it_was_given_outlives_it(broker: redis.Redis) -> None:
    told = broker.config_get("append*")
    assert (told["appendonly"], told["appendfsync"]) == ("yes", "everysec")


def test_a_full_one_refuses_rather_than_to_forget(broker: redis.Redis) -> None:
    broker.set("hint", "look now")
    broker.config_set("maxmemory", 1)
    with pytest.raises(redis.OutOfMemoryError):
        broker.set("another", "look now")
    broker.config_set("maxmemory", "256mb")
    assert broker.get("hint") == "look now"
