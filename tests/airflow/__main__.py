"""The story: ``python -m tests.airflow`` prints what it sees, step by step; it exits with 1 at the first that fails."""

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from assay_client import Incident
from deploy.bootstrap import UnableToBootstrap
from deploy.local.programs import UnableToStart

from .assay import Assay, assay
from .environment import prepared
from .processes import Airflow, airflow
from .tables import ROWS, lay

DAY = timedelta(days=1)
DAGS = {"fares", "waiting", "mend", "tips"}


class Failed(Exception):
    """A step did not end as it must."""


class Story:
    """What is seen; each step says what must be so."""

    def __init__(self, flow: Airflow, server: Assay, today: datetime) -> None:
        self.flow, self.server, self.today = flow, server, today
        self.begun, self.runs = time.monotonic(), 0

    def told(self, text: str) -> None:
        """A line, with the seconds since the beginning."""
        print(f"[{time.monotonic() - self.begun:5.0f} s] {text}", flush=True)

    def demand(self, what: str, found: object, wanted: object) -> None:
        """Raises Failed unless they are the same."""
        if found != wanted:
            raise Failed(f"{what}: found {found!r}, and it must be {wanted!r}")
        self.told(f"  ok  {what}: {found}")

    def run(self, dag: str) -> str:
        """Begin a run of a DAG whose interval is yesterday; its id."""
        self.runs += 1
        return self.flow.trigger(dag, logical_date=(self.today + timedelta(seconds=self.runs)).isoformat())

    def open_incidents(self) -> list[Incident]:
        """Those of Assay."""
        with self.server.reader() as client:
            return list(client.incidents(is_open=True))

    def triggered(self, dataset: str) -> list[str]:
        """What the runs of a dataset's tests found that a completion triggered."""
        rows = self.server.rows("runs", dataset=dataset)
        return sorted(str(row["outcome"]) for row in rows if row["reason"] == "trigger" and row["outcome"])


def main() -> int:
    """The exit code."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        for line in prepared():
            print(f"installed {line}", flush=True)
        with TemporaryDirectory(prefix="assay-airflow-") as place:
            folder = Path(place)
            day = (today - 2 * DAY).date()
            catalog = lay(folder, day)
            with assay(folder, catalog, broken="raw.trips", window=str(day)) as server:
                connection = {"type": "assay", "host": server.url, "password": server.pipeline_token}
                with airflow(folder, connection, today) as flow:
                    tell(Story(flow, server, today))
    except (Failed, UnableToStart, UnableToBootstrap) as reason:
        print(f"FAILED: {reason}", file=sys.stderr)
        return 1
    print("Airflow and Assay: all steps ended as they must.")
    return 0


def tell(story: Story) -> None:
    """All chapters; each needs those before it."""
    story.flow.wait_for_dags(DAGS)
    story.told(f"Airflow knows the DAGs {', '.join(sorted(DAGS))}; raw.trips has too few rows of one day")
    the_provider_is_known(story)
    broken_data_blocks(story)
    run = a_sensor_outlives_its_triggerer(story)
    mended_data_is_released(story, run)
    outputs_are_tested(story)
    bad_outputs_fail(story)


def the_provider_is_known(story: Story) -> None:
    """Airflow lists it, and its connection is tried."""
    story.demand("providers", "airflow-provider-assay" in story.flow.command("providers", "list"), True)
    story.demand("connection types", "AssayHook" in story.flow.command("providers", "hooks"), True)
    said = story.flow.inside(story.server.url, story.server.pipeline_token).splitlines()[-1]
    story.demand("modules, connections, triggers, errors, what OpenLineage is told", said, "all tried")


def broken_data_blocks(story: Story) -> None:
    """The gate fails one task and skips the other, with the reasons; what follows does not run."""
    story.flow.wait(story.open_incidents, "an incident is open")
    (incident,) = story.open_incidents()
    story.demand("the incident of Assay", incident.dataset, "raw.trips")
    run = story.run("fares")
    states = story.flow.ended("fares", run)
    wanted = {"gate": "failed", "write_fares": "upstream_failed", "done": "upstream_failed"}
    story.demand("tasks behind the gate", {name: states[name] for name in wanted}, wanted)
    wanted = {"skips": "skipped", "after_skips": "skipped"}
    story.demand("tasks with on_block='skip'", {name: states[name] for name in wanted}, wanted)
    answer = story.flow.xcom("fares", run, "gate")
    story.demand("decision in XCom of the failed task", answer["decision"], "block")
    story.demand("the incident is a reason", incident.id in {each["incident"] for each in answer["reasons"]}, True)
    text = "all-trips"
    story.demand(f"the log of the task names the test {text}", text in story.flow.log("fares", run, "gate"), True)
    for reason in answer["reasons"]:
        story.told(f"      {reason['decision']}: {reason['dataset']} {reason['window']}: {reason['text']}")


def a_sensor_outlives_its_triggerer(story: Story) -> str:
    """It waits in a triggerer that is killed, and then in another one."""
    run = story.run("waiting")
    story.flow.wait(lambda: story.flow.states("waiting", run)["sensor"] == "deferred", "the sensor is deferred")
    story.flow.wait(lambda: story.flow.triggerer_of("waiting", run, "sensor"), "a triggerer has it")
    first = story.flow.triggerer_of("waiting", run, "sensor")
    time.sleep(3)
    pid = story.flow.kill("triggerer")
    story.told(f"  ..  the sensor is deferred in triggerer {first}; its process {pid} is killed with SIGKILL")
    story.demand("the sensor without a triggerer", story.flow.states("waiting", run)["sensor"], "deferred")
    pid = story.flow.start("triggerer")
    story.flow.wait(
        lambda: story.flow.triggerer_of("waiting", run, "sensor") not in (None, first),
        "another triggerer takes it over",
    )
    second = story.flow.triggerer_of("waiting", run, "sensor")
    story.told(f"  ..  triggerer {second}, process {pid}, has taken it over")
    story.demand("the sensor in the new triggerer", story.flow.states("waiting", run)["sensor"], "deferred")
    return run


def mended_data_is_released(story: Story, waiting: str) -> None:
    """A DAG writes the day anew and tells of it: Assay tests it, the incident ends, and all that waits goes on."""
    states = story.flow.ended("mend", story.run("mend"))
    story.demand("the DAG that mends", states, {"write_trips": "success", "told": "success"})
    story.demand("runs of raw.trips that this triggered", set(story.triggered("raw.trips")), {"held"})
    story.flow.wait(lambda: not story.open_incidents(), "no incident is open")
    with story.server.reader() as client:
        (incident,) = client.incidents(dataset="raw.trips")
    story.demand("the incident has ended by itself", incident.resolution, "auto")
    states = story.flow.ended("waiting", waiting)
    story.demand(
        "the sensors and what waited for them", states, dict.fromkeys(("sensor", "poking", "after"), "success")
    )
    for task in ("sensor", "poking"):
        decision = story.flow.xcom("waiting", waiting, task)["decision"]
        story.demand(f"decision in XCom of {task}", decision in ("allow", "warn"), True)


def outputs_are_tested(story: Story) -> None:
    """The pipeline runs through; its completion triggers the tests of its output, and waits for them."""
    story.demand("runs of mart.fares before", story.triggered("mart.fares"), [])
    run = story.run("fares")
    states = story.flow.ended("fares", run)
    story.demand("the DAG that was blocked", set(states.values()), {"success"})
    answer = story.flow.xcom("fares", run, "done")
    story.demand("its outputs", (answer["judged"], answer["decision"]), (True, "allow"))
    outcomes = story.triggered("mart.fares")
    story.demand(f"{len(outcomes)} runs of mart.fares with the reason trigger, of {ROWS} rows", set(outcomes), {"held"})


def bad_outputs_fail(story: Story) -> None:
    """What was written wrongly fails the task that tells of it."""
    run = story.run("tips")
    states = story.flow.ended("tips", run)
    story.demand("a DAG that wrote each row twice", states, {"write_tips": "success", "done": "failed"})
    answer = story.flow.xcom("tips", run, "done")
    story.demand("its outputs", (answer["judged"], answer["decision"]), (True, "block"))


if __name__ == "__main__":
    sys.exit(main())
