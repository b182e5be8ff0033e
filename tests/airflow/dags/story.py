"""What the pipelines of the story are; Airflow reads this file, in its own environment."""

import os
import shutil
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from assay_airflow.operators import CompletedOperator, GateOperator
from assay_airflow.sensors import GateSensor

FOLDER = Path(os.environ["STORY_FOLDER"])
# a day before the data interval: at whatever hour the story is told, the tests of that day are due
DAY = "{{ (data_interval_start - macros.timedelta(days=1)) | ds }}"
INTERVAL = "{{ data_interval_start - macros.timedelta(days=1) }}/{{ data_interval_start }}"
TODAY = datetime.fromisoformat(os.environ["STORY_TODAY"])  # no interval has ended since: nothing runs by itself
DAILY = CronDataIntervalTimetable("0 0 * * *", timezone="UTC")


def write(batch: str, table: str, day: str) -> None:
    """Put a batch in the place of a table's partition."""
    place = FOLDER / "lake" / table / f"day={day}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(FOLDER / "batches" / batch, place)


def writes(batch: str, table: str) -> object:
    """A task that does so, for the day of its interval."""
    return task(write, task_id=f"write_{table}")(batch, table, DAY)


with DAG("fares", schedule=DAILY, start_date=TODAY) as fares:
    gate = GateOperator(task_id="gate", datasets=["raw.trips"], window=INTERVAL)
    skips = GateOperator(task_id="skips", datasets="raw.trips", window=DAY, on_block="skip")
    done = CompletedOperator(
        task_id="done",
        outputs=[{"dataset": "mart.fares", "window": INTERVAL}],
        wait=True,
        deferrable=True,
        poll_interval=1,
        timeout=300,
    )
    gate >> writes("right", "fares") >> done
    skips >> task(lambda: None, task_id="after_skips")()

with DAG("waiting", schedule=DAILY, start_date=TODAY) as waiting:
    sensor = GateSensor(
        task_id="sensor", datasets=["raw.trips"], window=INTERVAL, deferrable=True, poke_interval=1, timeout=600
    )
    poking = GateSensor(
        task_id="poking", datasets=["raw.trips"], window=INTERVAL, mode="reschedule", poke_interval=3, timeout=600
    )
    [sensor, poking] >> task(lambda: None, task_id="after")()

with DAG("mend", schedule=DAILY, start_date=TODAY) as mend:
    told = CompletedOperator(
        task_id="told",
        outputs=[{"dataset": "raw.trips", "window": DAY, "datacenter": "sea"}],
        wait=True,
        deferrable=False,
        timeout=300,
    )
    writes("right", "trips") >> told

with DAG("tips", schedule=DAILY, start_date=TODAY) as tips:
    bad = CompletedOperator(
        task_id="done", outputs=[{"dataset": "mart.tips", "window": DAY}], wait=True, deferrable=True, poll_interval=1
    )
    writes("twice", "tips") >> bad
