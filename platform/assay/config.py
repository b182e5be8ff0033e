"""Settings from the environment: every ``ASSAY_…`` variable, its type and its default, in one place."""

import secrets
from functools import cache
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Config(BaseSettings):
    """What the environment says; the defaults are the embedded set-up for one machine."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", env_file=None, extra="ignore")

    home: Path = Field(default=Path(".assay"), description="Folder of the embedded database, states and secret key")
    database_url: str = Field(default="", description="sqlite:///… or mysql://…; empty: SQLite inside the home folder")
    broker_url: str = Field(default="", description="redis://…; empty: no broker, the stages are drained in-process")
    broker_visibility_timeout: int = Field(default=900, description="Seconds before Redis redelivers a message")
    lease_seconds: float = Field(default=60, ge=1, description="How long a worker that died keeps what it had claimed")
    state_store: Path | None = Field(default=None, description="Folder of large states; empty: inside the home folder")
    secret_key: SecretStr = Field(default=SecretStr(""), description="Empty: made once, kept in home")
    debug: bool = Field(default=False, description="Django's debug pages; never in service")
    allowed_hosts: list[str] = Field(default=["127.0.0.1", "localhost"], description="Hosts the web app answers to")
    public_url: str = Field(default="http://127.0.0.1:8000", description="Where links in notices lead")
    spark_master: str = Field(default="local[2]", description="Spark master URL for a classic session")
    spark_remote: str = Field(default="", description="Spark Connect URL (sc://…); wins over the master")
    email_url: str = Field(default="", description="smtp://user:password@host:port; empty: no email channel")
    email_from: str = Field(default="assay@localhost", description="Sender of emails")
    webhook_url: str = Field(default="", description="Receiver of notices as JSON; empty: no webhook channel")
    webhook_secret: SecretStr = Field(default=SecretStr(""), description="Key of the webhook's HMAC signature")
    on_call: str = Field(default="platform-on-call", description="Who hears of faults of the platform itself")
    log_level: str = Field(default="INFO", description="Level of the structured logs")
    log_json: bool = Field(default=False, description="Logs as JSON lines rather than for people")

    @property
    def database(self) -> str:
        """The database URL in force."""
        return self.database_url or f"sqlite:///{self.home.resolve() / 'assay.db'}"

    @property
    def states(self) -> Path:
        """The folder of states above 64 kB."""
        return self.state_store or self.home / "states"

    def django_secret_key(self) -> str:
        """The secret key of the environment, else one made once and kept readable by its owner only."""
        if given := self.secret_key.get_secret_value():
            return given
        kept = self.home / "secret_key"
        if not kept.exists():
            self.home.mkdir(parents=True, exist_ok=True)
            kept.touch(mode=0o600)
            kept.write_text(secrets.token_urlsafe(50))
        return kept.read_text()


@cache
def config() -> Config:
    """The configuration of this process, read once."""
    return Config()
