"""Where Spark runs and with what, apart from pyspark, which only the process that hosts it need import."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """``remote`` (Connect) if given, else ``master``; ``conf`` is added to our settings.

    ``memory`` (``2g``) bounds Java's heap, and by it what a query may return; ``java_options`` go to the driver's Java.
    ``native``: whether tasks read parquet files themselves, where that surely gives what Spark's own reading gives.
    """

    master: str = "local[2]"
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, hash=False)
    memory: str = ""
    java_options: str = ""
    native: bool = True

    @property
    def is_local(self) -> bool:
        """Whether the JVM is started here."""
        return (self.remote or self.master).startswith("local")
