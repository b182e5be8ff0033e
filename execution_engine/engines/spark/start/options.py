"""Where Spark runs and with what, apart from pyspark, which only the process that hosts it need import."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """``remote`` (Connect) if given, else ``master``; ``conf`` is added to our settings.

    ``memory`` (``2g``) bounds Java's heap, and by it what a query may return; ``java_options`` go to the driver's Java.
    ``native``: whether tasks read parquet files themselves, where that surely gives what Spark's own reading gives.
    ``in_process_bytes``: parts of local files with fewer bytes are read by the process of the session, without a job.
    """

    master: str = "local[2]"
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, hash=False)
    memory: str = ""
    java_options: str = ""
    native: bool = True
    in_process_bytes: int = 0

    @property
    def is_local(self) -> bool:
        """Whether the JVM is started here."""
        return (self.remote or self.master).startswith("local")

    @property
    def most_bytes_here(self) -> int:
        """Of a part that the session's own process reads: with Connect none, as nobody could kill that process."""
        return self.in_process_bytes if self.native and not self.remote else 0
