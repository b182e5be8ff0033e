"""``assay demo``: the whole loop on real data."""

import os
import sys
from typing import Any

from rich.console import Console

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.edge.logs import configure_logs
from execution_engine.engines.spark.session import UnableToFindJava, use_java
from web.demo.replay import UnableToUseHome, prepare, progress, replay
from web.demo.result import findings, open_addresses, result, show, show_open

# A JVM that lives for two minutes and reads small files gains nothing from its second compiler and many collectors.
SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Command(Base):
    """28 days of real flights and weather with known faults, replayed in a home of its own."""

    help = "Replay 28 days of real data with known faults; exit 1 unless each is caught, or missed, as expected."

    def prepare(self) -> None:
        """Nothing: the replay begins with an empty database of its own."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Replay, and say what became of every fault."""
        conf = config()
        addresses = {
            "ASSAY_DATABASE_URL": conf.database_url,
            "ASSAY_EMAIL_URL": conf.email_url,
            "ASSAY_WEBHOOK_URL": conf.webhook_url,
        }
        # the demo's people do not exist, and its rows belong to nobody: neither must reach a real service
        if named := [name for name, value in addresses.items() if value]:
            raise UnableToRun(f"the demo keeps to its own folder: unset {', '.join(named)}")
        configure_logs(level="WARNING", as_json=conf.log_json)
        os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED_JVM)
        try:
            java = use_java() if not conf.spark_remote else None
            prepare(conf.home)
            with progress(Console(stderr=True)) as seen:
                replay(conf.home, seen=seen)
        except (UnableToFindJava, UnableToUseHome) as error:
            raise UnableToRun(str(error)) from None
        faults = findings()
        wrong = [fault for fault in faults if fault["seen"] != fault["expected"]]
        for fault in wrong:
            self.stderr.write(f"assay: {fault['name']}: expected {fault['expected']}, seen as {fault['seen']}")
        code = ExitCode.FAILED if wrong else ExitCode.HELD
        return code, result(faults) | {"java": str(java) if java else "that of Spark Connect"}

    def show(self, console: Console, result: Any) -> None:
        """Tables, what is still open, and how to look at it in the dashboard."""
        show(console, result)
        console.print(f"Spark ran on {result['java']}.", soft_wrap=True)
        show_open(console, open_addresses(), f"ASSAY_HOME={config().home} {sys.argv[0]} up")
