import cProfile
import pstats
import time
from collections import Counter
from datetime import timedelta

from django.db import connection

from assay import clock
from execution_engine import services, storage, tasks
from execution_engine.models import Measurement, Run, Scan, Watch
from tests.factories import *
from tests.fakes import FakeEngine, rows


def test_perf(transactional_db):
    lake = FakeEngine()
    clock.simulate(NOW)
    data = rows(50)
    sets = [DatasetFactory(name=f"t{i}") for i in range(8)]
    for a, b in zip(sets, sets[1:]):
        LineageEdgeFactory(upstream=a, downstream=b)
    for i, d in enumerate(sets):
        asserts = ["freshness(complete=0.99) < 6h", "1 - distinct_count(id) / row_count() <= 0"]
        if i:
            asserts.append(f"row_count() / row_count(dataset='raw.t{i - 1}') between 0.99 and 1.01")
        asserts += (
            [f"mean(fare) > {j}" for j in range(10)]
            + [f"row_count(where='fare > {j}') >= 0" for j in range(10)]
            + ["row_count() / mean(row_count(), last=7) > 0.5"]
        )
        for j, a in enumerate(asserts):
            t = DataTestFactory(dataset=d, name=f"x{j}", assertion=a)
            slot = services.first_cursor(t, t.revision, NOW)
            t.next_due_at, t.next_window_start, t.next_window_end = slot.due_at, slot.window.start, slot.window.end
            t.save()
    times = Counter()
    counts = Counter()
    sql = Counter()
    pr = cProfile.Profile()
    with storage.using(lake):
        start = time.process_time()
        n = [0]

        def wrapper(execute, *a):
            n[0] += 1
            return execute(*a)

        with connection.execute_wrapper(wrapper):
            pass
            for h in range(4 * 24):
                now = NOW + timedelta(hours=h)
                clock.simulate(now)
                if now.hour == 1:
                    for d in sets:
                        lake.write(f"/lake/sea/{d.name}", f"{now - timedelta(days=1):%Y-%m-%d}", data)
                while True:
                    got = 0
                    for name in ("schedule", "plan", "scan", "evaluate", "watch"):
                        t0 = time.process_time()
                        n[0] = 0
                        c = getattr(tasks, name)()
                        times[name] += time.process_time() - t0
                        counts[name] += c
                        sql[name] += n[0]
                        got += c
                    if not got:
                        break
            pass
        print("total", time.process_time() - start)
    for k in times:
        print(k, round(times[k], 2), counts[k], sql[k], round(sql[k] / max(1, counts[k]), 1))
    print(
        Run.objects.count(),
        Counter(Run.objects.values_list("outcome", flat=True)),
        Scan.objects.count(),
        len(lake.scans),
        Measurement.objects.count(),
        Watch.objects.count(),
    )

