"""Settings from the environment: every ``ASSAY_…`` variable, its type and its default, in one place."""

import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import DirectoryPath, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from assay.time.durations import next_time

from .iceberg_catalogs import Catalog, catalogs_as_json, parse_catalogs
from .provider_entries import ProviderEntry, parse_providers, providers_as_json
from .spark_conf import parse_conf
from .stores import Store, is_store, parse_stores, stores_as_json

LOCATION_PREFIX = "ASSAY_LOCATION_"  # variables of this name hold locations, and nothing else of ours


class UnableToKeepKey(Exception):
    """The home folder takes no secret key; the message says why and how to mend it."""


class UnableToReadSettings(Exception):
    """Variables that hold no settings; one sentence names each and says how to mend it."""


# How often one may ask: so many requests of a kind within a span, written ``600/m``.

RATES: Mapping[str, str] = MappingProxyType(
    {
        "read": "1200/m",
        "write": "300/m",
        "gate": "1200/m",  # asked before every read of every pipeline
        "query": "120/m",  # SQL is parsed, or hundreds of ranges are looked up
        "report": "30/m",  # somebody is woken
        "run": "60/m",  # Spark works
        "anonymous": "60/m",  # by address: whoever has not said who they are
        "login": "10/m",  # wrong passwords of one name from one address
        "login-address": "60/m",  # of any name from one address
        "login-name": "100/h",  # of one name from anywhere
    }
)
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_RATE = re.compile(r"([1-9]\d{0,8})/([smhd])", re.ASCII)


def parse_rate(text: str) -> tuple[int, int]:
    """How many within how many seconds; raises ValueError."""
    if not (match := _RATE.fullmatch(text)):
        raise ValueError(f"{text!r} is no rate: write a number, a slash and one of s, m, h, d, such as 600/m")
    return int(match[1]), SECONDS[match[2]]


def merged(changes: Mapping[str, str]) -> dict[str, str]:
    """The rates in force; raises ValueError for a kind that there is not, or a text that is no rate."""
    if unknown := sorted(set(changes) - set(RATES)):
        raise ValueError(f"{', '.join(unknown)}: no such kind of request; there are {', '.join(RATES)}")
    for text in changes.values():
        parse_rate(text)
    return {**RATES, **changes}


class Config(BaseSettings):
    """What the environment says; the defaults are the embedded set-up for one machine."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", env_file=None, extra="ignore")

    home: Path = Field(default=Path(".assay"), description="Folder of the embedded database, states and secret key")
    secrets_dir: DirectoryPath | None = Field(
        default=None, description="Folder of secrets: files named like these variables, in lower case; a variable wins"
    )
    database_url: str = Field(default="", description="sqlite:///… or mysql://…; empty: SQLite inside the home folder")
    broker_url: str = Field(default="", description="redis://…; empty: no broker, the stages are drained in-process")
    broker_visibility_timeout: int = Field(default=900, description="Seconds before Redis redelivers a message")
    lease_seconds: float = Field(default=60, ge=1, description="How long a worker that died keeps what it had claimed")
    state_store: str = Field(
        default="",
        description="Folder of large states, or a place in a store, s3://…; empty: inside the home folder",
    )
    state_key: SecretStr = Field(
        default=SecretStr(""), description="Signs states that travel between datacenters: the same in all; empty: none"
    )
    secret_key: SecretStr = Field(default=SecretStr(""), description="Empty: made once, kept in home")
    debug: bool = Field(default=False, description="Django's debug pages; never in service")
    allowed_hosts: list[str] = Field(default=["127.0.0.1", "localhost"], description="Hosts the web app answers to")
    public_url: str = Field(
        default="http://127.0.0.1:8000", description="Where links in notices lead; unset: to where `assay up` listens"
    )
    proxies: int = Field(default=0, ge=0, description="Proxies before the web app that add to X-Forwarded-For")
    token_days: int = Field(default=366, ge=1, description="The longest life of a token, in days")
    body_bytes: int = Field(default=5_000_000, ge=1000, description="The largest body that the web app takes")
    rates: dict[str, str] = Field(default={}, description='Rates that differ from the usual: {"gate": "6000/m"}')
    spark_native: bool = Field(
        default=True, description="Let Spark's tasks read parquet files themselves, where that gives what Spark gives"
    )
    spark_in_process_bytes: int = Field(
        default=0,
        ge=0,
        description="Parts of local parquet files with fewer bytes are read in Spark's driver, without a job; 0: none",
    )
    spark_master: str = Field(default="local[2]", description="Spark master URL for a classic session")
    spark_remote: str = Field(default="", description="Spark Connect URL (sc://…); wins over the master")
    spark_conf: str = Field(
        default="",
        description='Settings of Spark\'s own, as JSON or the path of a YAML file: {"spark.executor.memory": "2g", '
        '"spark.jars": "…"}; secrets as env:NAME or file:/PATH (docs/clusters.md)',
    )
    spark_isolation: Literal["child", "none"] = Field(
        default="child", description="Spark in a process of its own that can be killed, or (for tests only) in ours"
    )
    spark_memory: str = Field(
        default="2g", pattern=r"^[1-9]\d*[mg]$", description="Memory of Spark's Java, and again of its Python: 512m, 2g"
    )
    spark_scans: int = Field(default=1000, ge=1, description="Scans after which a fresh Spark process takes over")
    spark_variables: list[str] = Field(
        default=[], description='Variables that Spark may see, as of an object store: ["AWS_ACCESS_KEY_ID", …]'
    )
    spark_log: bool = Field(default=False, description="Lets through what Spark and its Java print, to find a fault")
    stores: str = Field(
        default="",
        description='Object stores, as JSON or the path of a YAML file: [{"prefix": "s3://lake", "endpoint": '
        '"http://minio:9000", "access_key": "env:NAME", …}]; empty: what the machine itself has the keys of',
    )
    catalogs: str = Field(
        default="",
        description='Catalogs of Iceberg, as JSON or the path of a YAML file: [{"name": "lake", "type": "rest", "uri": '
        '"https://…", "credential": "env:NAME"}]; empty: none',
    )
    allowed_roots: list[str] = Field(
        default=[],
        description='Where data may lie: ["/data", "s3://lake/", "table://mart", "iceberg://lake/mart"]; empty: '
        "anywhere for catalog files, nowhere for requests",
    )
    row_stores: dict[str, str] = Field(
        default={},
        description='Where failing rows may be kept, by name: {"quarantine": "s3://quality/rows"}; empty: nowhere',
    )
    location_variables: list[str] = Field(
        default=[], description='Variables that a location may name as env:NAME: ["ORDERS_URL"]'
    )
    providers: str = Field(
        default="",
        description='Sources of metadata in their order, as JSON or the path of a YAML file: [{"name": "dbt", "kind": '
        '"dbt", …}] (docs/catalog.md)',
    )
    catalog_path: Path | None = Field(
        default=None, description="File or folder of the catalog that the service reads on a schedule; empty: none"
    )
    catalog_source: str = Field(default="", description="The name of its source, if its files give none")
    catalog_every: str = Field(default="15m", description="How often it is read: 15m, or a cron line in UTC")
    run_retention: int = Field(default=400, ge=0, description="Days that results are kept; 0: for ever")
    state_retention: int = Field(default=35, ge=0, description="Days that states of measurements are kept; 0: for ever")
    scans_per_dataset: int = Field(default=2, ge=0, description="Scans of a dataset at once, in a datacenter; 0: any")
    scans_per_owner: int = Field(default=8, ge=0, description="Scans of an owner's datasets at once; 0: any")
    scans_per_engine: int = Field(
        default=16, ge=0, description="Scans by one engine at once: Spark, or a database outside the lake; 0: any"
    )
    jitter_seconds: float = Field(
        default=60, ge=0, le=60, description="With a broker, the tests of each dataset are due up to so much later"
    )
    scan_deadline_seconds: float = Field(default=600, ge=1, description="Seconds after which a scan is stopped")
    email_url: str = Field(default="", description="smtp://user:password@host:port; empty: no email channel")
    email_from: str = Field(default="assay@localhost", description="Sender of emails")
    webhook_url: str = Field(default="", description="Receiver of notices as JSON; empty: no webhook channel")
    webhook_secret: SecretStr = Field(default=SecretStr(""), description="Key of the webhook's HMAC signature")
    webhook_hosts: list[str] = Field(
        default=[], description='Hosts that may be posted to, ["name", "name:8443"]; empty: the URL\'s own, on port 443'
    )
    webhook_private: bool = Field(
        default=False, description="Lets channels be http, on any port and at private addresses; for trials only"
    )
    slack_token: SecretStr = Field(
        default=SecretStr(""),
        description="Bot token of a Slack app (xoxb-…), scope chat:write; empty: no Slack",
    )
    slack_url: str = Field(default="https://slack.com/api/", description="Slack's Web API; GovSlack has another")
    pagerduty_keys: dict[str, SecretStr] = Field(
        default={}, description='Integration keys of PagerDuty services, by a name of yours: {"trips": "…"}'
    )
    pagerduty_url: str = Field(
        default="https://events.pagerduty.com/v2/enqueue", description="PagerDuty's Events API v2; the EU has another"
    )
    teams_urls: dict[str, SecretStr] = Field(
        default={}, description='Webhook URLs of Teams workflows, by a name of yours: {"trips": "https://…"}'
    )
    apprise_urls: dict[str, SecretStr] = Field(
        default={}, description='URLs of apprise, by a name of yours: {"trips": "discord://…"}'
    )
    routes: Path | None = Field(
        default=None, description="File that says how teams and owners are reached; empty: by their names alone"
    )
    holidays: str = Field(
        default="", description="Whose public holidays widen vital signs: two letters of a country, such as US"
    )
    accept_proposals: list[Annotated[int, Field(ge=0, le=5)]] = Field(
        default=[],
        description="Tiers whose missing keys, partitions and SLAs evidence fills in, once a day: [3, 4, 5]",
    )
    on_call: str = Field(default="platform-on-call", description="Who is told of faults of the platform itself")
    heartbeat_url: SecretStr = Field(
        default=SecretStr(""),
        description="The scheduler calls it once a minute; an outside service notices when the calls stop",
    )
    openlineage_url: str = Field(
        default="", description="Receiver of OpenLineage events about judged runs, …/api/v1/lineage; empty: none"
    )
    openlineage_key: SecretStr = Field(
        default=SecretStr(""), description="Sent to it as 'Authorization: Bearer …'; empty: nothing is sent"
    )
    log_level: str = Field(
        default="INFO", description="Level of the structured logs; unset, commands that end log warnings only"
    )
    log_json: bool = Field(default=False, description="Logs as JSON lines rather than for people")

    @model_validator(mode="after")
    def _lead_links_to_server(self) -> Self:
        """Without a word of the operator, links lead to where ``assay up`` of this home listens, or listened last."""
        if "public_url" not in self.model_fields_set:
            with suppress(OSError):
                self.public_url = self.address_file.read_text(encoding="utf-8").strip() or self.public_url
        return self

    @property
    def address_file(self) -> Path:
        """Where ``assay up`` writes its address, for the links of this and other processes."""
        return self.home / "address"

    @field_validator("rates")
    @classmethod
    def _refuse_unknown_rates(cls, rates: dict[str, str]) -> dict[str, str]:
        merged(rates)
        return rates

    @field_validator("catalog_every")
    @classmethod
    def _refuse_no_cadence(cls, cadence: str) -> str:
        next_time(cadence, datetime(2000, 1, 1, tzinfo=UTC))
        return cadence

    @field_validator("holidays")
    @classmethod
    def _refuse_unknown_country(cls, country: str) -> str:
        if country:
            from holidays import list_supported_countries  # which takes a while

            if country not in list_supported_countries():
                raise ValueError(f"{country!r} is no country that is known: write two letters of ISO 3166, such as US")
        return country

    @field_validator("spark_variables")
    @classmethod
    def _refuse_our_own(cls, names: list[str]) -> list[str]:
        """Users' SQL runs where these variables are seen, so variables of Assay are refused."""
        if ours := [name for name in names if name.upper().startswith(("ASSAY_", "DJANGO_"))]:
            raise ValueError(f"Spark must not see {', '.join(ours)}; name variables of the data's own store only")
        return names

    @field_validator("location_variables")
    @classmethod
    def _refuse_our_secrets(cls, names: list[str]) -> list[str]:
        """A location is read aloud to a database or a store: a secret of ours must not be one."""
        ours = ("ASSAY_", "DJANGO_")
        if wrong := [n for n in names if n.upper().startswith(ours) and not n.startswith(LOCATION_PREFIX)]:
            raise ValueError(f"{', '.join(wrong)} are Assay's own; name variables that hold locations of data only")
        return names

    @field_validator("stores")
    @classmethod
    def _read_stores(cls, text: str) -> str:
        """As JSON from now on, which the processes that Assay starts can read wherever they run."""
        return stores_as_json(parse_stores(text)) if text.strip() else ""

    @field_validator("spark_conf")
    @classmethod
    def _read_spark_conf(cls, text: str) -> str:
        return json.dumps(parse_conf(text)) if text.strip() else ""

    @property
    def spark_settings(self) -> dict[str, str]:
        """The settings of Spark's own, with references in place of secrets."""
        return parse_conf(self.spark_conf)

    @field_validator("providers")
    @classmethod
    def _read_providers(cls, text: str) -> str:
        """As JSON from now on, as of stores."""
        return providers_as_json(parse_providers(text)) if text.strip() else ""

    @property
    def provider_list(self) -> tuple[ProviderEntry, ...]:
        """The providers that the operator has named, in their order."""
        return parse_providers(self.providers)

    @property
    def object_stores(self) -> tuple[Store, ...]:
        """The stores that the operator has named."""
        return parse_stores(self.stores)

    @field_validator("catalogs")
    @classmethod
    def _read_catalogs(cls, text: str) -> str:
        """As JSON from now on, as of stores."""
        return catalogs_as_json(parse_catalogs(text)) if text.strip() else ""

    @property
    def iceberg_catalogs(self) -> tuple[Catalog, ...]:
        """The catalogs of Iceberg that the operator has named."""
        return parse_catalogs(self.catalogs)

    @field_validator("allowed_roots")
    @classmethod
    def _refuse_relative_roots(cls, roots: list[str]) -> list[str]:
        if wrong := [root for root in roots if not root.startswith("/") and "://" not in root]:
            raise ValueError(f"{', '.join(wrong)}: write absolute folders such as /data, or URLs such as s3://lake/")
        return roots

    @property
    def own_paths(self) -> tuple[Path, ...]:
        """What is Assay's own and never data: its database with its journals, states, key, logs and secrets."""
        database = [self.database.removeprefix("sqlite:///")] if self.database.startswith("sqlite") else []
        files = [Path(name + end) for name in database for end in ("", "-wal", "-shm", "-journal")]
        folders = [self.home / name for name in ("assay.db", "secret_key", "states", "service", "logs")]
        states = [] if is_store(self.states) else [Path(self.states)]
        return (*files, *folders, *states, *([self.secrets_dir] if self.secrets_dir else []))

    @property
    def database(self) -> str:
        """The database URL in force."""
        return self.database_url or f"sqlite:///{self.home.resolve() / 'assay.db'}"

    @property
    def jitter(self) -> timedelta:
        """The most that a dataset's tests wait for others that are due too; embedded, all is worked in one go."""
        return timedelta(seconds=self.jitter_seconds if self.broker_url else 0)

    @property
    def states(self) -> str:
        """Where states above 64 kB are kept: a folder, or a place in a store."""
        return self.state_store.removeprefix("file://").rstrip("/") or str(self.home / "states")

    @field_validator("state_store")
    @classmethod
    def _refuse_other_schemes(cls, location: str) -> str:
        """A scheme whose files are not written whole, such as hdfs, would leave halves of states behind."""
        if "://" in location and not is_store(location) and not location.startswith("file://"):
            raise ValueError(f"{location} is no folder and no place in a store: write a path, or s3://BUCKET/FOLDER")
        return location

    def django_secret_key(self) -> str:
        """The secret key of the environment, else one made once and kept readable by its owner only."""
        if key := self.secret_key.get_secret_value():
            return key
        file = self.home / "secret_key"
        try:
            if file.exists() and (key := file.read_text().strip()):
                return key
            # made whole beside its place: a full disk leaves no empty key behind, and of two at once the first is kept
            file.parent.mkdir(parents=True, exist_ok=True)
            draft = file.with_name(f"secret_key.{os.getpid()}")
            try:
                draft.touch(mode=0o600)
                draft.write_text(secrets.token_urlsafe(50))
                if file.exists():
                    file.unlink()  # it is empty, as a full disk of an earlier version left it
                with suppress(FileExistsError):
                    file.hardlink_to(draft)
            finally:
                draft.unlink(missing_ok=True)
            return file.read_text()
        except OSError as error:
            raise UnableToKeepKey(
                f"cannot keep a secret key in {file}: {error.strerror}. Make room there, or set ASSAY_HOME to a folder "
                "that this user may write."
            ) from None


@cache
def config() -> Config:
    """The configuration of this process, read once."""
    try:
        return Config(_secrets_dir=os.environ.get("ASSAY_SECRETS_DIR") or None)
    except ValidationError as error:
        wrong = [f"ASSAY_{str(part['loc'][0]).upper()}: {part['msg']}" for part in error.errors() if part["loc"]]
        text = "; ".join(wrong) or "the settings contradict each other"
        raise UnableToReadSettings(text.replace("Value error, ", "")) from None
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        name = f"ASSAY_{field[1].upper()}" if field else "a setting"
        raise UnableToReadSettings(f"{name} is no JSON: docs/service.md shows how it is written") from None
