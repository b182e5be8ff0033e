"""Many processes that report failures at once, round after round: a program of its own, as its processes are forked.

``python -m tests.integration.incident_manager.racing ROUNDS`` prints the figures as JSON. The database is
ASSAY_DATABASE_URL, migrated and empty.
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import cycle, islice
from multiprocessing import get_context
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
django.setup()

from django.db import OperationalError, connection  # noqa: E402

from alerting.models import Alert, Flip  # noqa: E402
from alerting.services import judge_runs  # noqa: E402
from assay import clock  # noqa: E402
from assay.models import Category, Dataset, DataTest  # noqa: E402
from assay.queue.claims import in_transaction  # noqa: E402
from execution_engine.models import Run  # noqa: E402
from incident_manager.models import Entry, Episode, Incident, SpoiltWindow  # noqa: E402
from incident_manager.services import handle_flip  # noqa: E402
from tests.factories import HOUR, DatasetFactory, DataTestFactory, RunFactory, day  # noqa: E402

PROCESSES = 32
WINDOW = day("2026-03-09")
DUE = WINDOW.end + 6 * HOUR
CATEGORIES = (Category.CUSTOM, Category.DUPLICATES, Category.COMPLETENESS)
MOST_TRIES = 50


@dataclass
class Figures:
    """What came of all rounds; ``wrong`` holds each thing that was not as it must be."""

    rounds: int = 0
    results: int = 0
    seconds: float = 0.0  # between the start of a round and the end of its last process
    retried: int = 0  # transactions that were done again after a deadlock or a lock timeout
    given_back: int = 0  # rows that a process had to leave to the next claim, after five such
    wrong: list[str] = field(default_factory=list)


def main(rounds: int) -> Figures:
    """Race so many rounds."""
    clock.simulate(DUE)
    context = get_context("fork")
    barrier, done = context.Barrier(PROCESSES + 1), context.Queue()
    inboxes = [context.Queue() for _ in range(PROCESSES)]
    connection.close()  # each process has its own
    racers = [context.Process(target=race, args=(box, barrier, done), daemon=True) for box in inboxes]
    for racer in racers:
        racer.start()
    figures = Figures()
    for _ in range(rounds):
        one_round(figures, inboxes, barrier, done)
    for box in inboxes:
        box.put(None)
    for racer in racers:
        racer.join(30)
    return figures


def one_round(figures: Figures, inboxes: list[Any], barrier: Any, done: Any) -> None:
    """All processes report one failed run each, spread over three datasets and categories."""
    pairs = [(DatasetFactory.create(), category) for category in CATEGORIES]
    tests = [
        DataTestFactory.create(dataset=dataset, category=category, sustain=0 * HOUR)
        for dataset, category in islice(cycle(pairs), PROCESSES)
    ]
    for test, box in zip(tests, inboxes, strict=True):
        box.put(failed_run(test).pk)
    barrier.wait(60)
    began = time.monotonic()
    for _ in range(PROCESSES):
        retried, given_back, wrong = done.get(timeout=120)
        figures.retried += retried
        figures.given_back += given_back
        figures.wrong += wrong
    figures.seconds += time.monotonic() - began
    figures.rounds, figures.results = figures.rounds + 1, figures.results + PROCESSES
    figures.wrong += [f"round {figures.rounds}: {wrong}" for wrong in looked_at(pairs)]
    Dataset.objects.filter(pk__in=[dataset.pk for dataset, _ in pairs]).delete()


def failed_run(test: DataTest) -> Run:
    """A scheduled run that was broken when it was due, and waits to be judged."""
    run: Run = RunFactory.create(
        data_test=test, window=WINDOW, outcome="broken", requested_at=DUE, judged_at=None, slot=f"race-{test.pk}"
    )
    return run


def looked_at(pairs: Sequence[tuple[Dataset, Category]]) -> list[str]:
    """What is not as it must be: one open incident, alert, episode and opening entry of each pair, no result lost."""
    datasets = [dataset.pk for dataset, _ in pairs]
    mine, of_incident = Incident.objects.filter(dataset__in=datasets), ("incident__dataset", "incident__category")
    found: dict[str, Any] = {
        "incidents": mine.values_list("dataset", "category"),
        "open": mine.filter(open_key__isnull=False).values_list("dataset", "category"),
        "alerts": Alert.objects.filter(dataset__in=datasets).values_list("dataset", "category"),
        "episodes": Episode.objects.filter(incident__in=mine).values_list(*of_incident),
        "opening entries": Entry.objects.filter(incident__in=mine, event="opened").values_list(*of_incident),
    }
    expected = Counter((dataset.pk, category.value) for dataset, category in pairs)
    wrong = [f"{name}: {list(rows)}" for name, rows in found.items() if Counter(rows) != expected]
    spoilt = SpoiltWindow.objects.filter(dataset__in=datasets).count()
    return wrong + ([f"{spoilt} of {PROCESSES} failures are in an incident"] if spoilt != PROCESSES else [])


def race(inbox: Any, barrier: Any, done: Any) -> None:
    """One process: judge the run that it is given, and handle what follows, at the same instant as all others."""
    while (pk := inbox.get()) is not None:
        tally = Counter[str]()
        run = Run.objects.get(pk=pk)
        barrier.wait(60)
        try:
            until_done(partial(judge_runs, [run], DUE), tally)
            for flip in Flip.objects.filter(run=run):
                until_done(partial(handle_flip, flip, DUE), tally)
            wrong = []
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"[:300]]
        done.put((tally["retried"], tally["given back"], wrong))


def until_done(body: Callable[[], None], tally: Counter[str]) -> None:
    """As a stage does it: in a transaction that is retried; what still fails is claimed again."""
    for _ in range(MOST_TRIES):
        try:
            in_transaction(body)
        except OperationalError:
            tally["given back"] += 1
        else:
            return
        finally:
            tally["retried"] += in_transaction.statistics.get("attempt_number", 1) - 1
    raise RuntimeError("not done after many tries")


if __name__ == "__main__":
    print(json.dumps(asdict(main(int(sys.argv[1])))))
