"""The stage *lineage*: once a day aged edges and proposals end, and what stands on each dataset is counted anew.

A small graph is counted here. A large one is a job of Spark, in a process of its own.
"""

import subprocess
import sys
from hashlib import blake2s
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import structlog
from django.db import transaction
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.edge_rows import end_aged_edges
from assay.catalog.proposals import end_aged_proposals
from assay.catalog.services import mark_changed
from assay.database.statements import IN_ONE, in_parts, update_each
from assay.models import Dataset, LineageEdge, Round
from assay.queue.claims import UnableToFinish, claim, finish, heartbeat, log_ids
from assay.queue.flow import stage
from execution_engine.models import BlastRadius

from .reach import Graph, Ints, Reach, count_parts, questions, reach_of

MOST_HERE = 1_000_000_000  # words of bits: seconds
FIELDS = ("by_tier", "downstreams", "roots", "depth")

log = structlog.get_logger(__name__)


def trace_lineage() -> int:
    """Count what stands on each dataset, if that is due; 1 if it was, else 0."""
    now = clock.now()
    rows: list[Round] = claim(stage("lineage"), now=now, limit=1)
    for row in rows:
        with bound_contextvars(**log_ids("lineage", row)), heartbeat(row):
            try:
                with transaction.atomic():
                    mark_changed(end_aged_edges(), now)
                    end_aged_proposals()
                ids, graph = _graph()
                state = {"graph": blake2s(b"".join(map(bytes, (ids, *vars(graph).values())))).hexdigest()}
                reach = trace(graph) if state != row.state else None
                with transaction.atomic():
                    if reach is not None:
                        log.info("lineage traced", edges=len(graph.upstreams), changed=write_reach(ids, graph, reach))
                    finish(row, due_at=stage(row.name).next_round(now), state=state)
            except UnableToFinish as lost:
                log.warning("lease lost", why=str(lost))
            except Exception:
                log.exception("lineage failed", attempts=row.attempts)
    return len(rows)


def _graph() -> tuple[Ints, Graph]:
    """The ids of the datasets that no source has left, in order, and the edges between them."""
    rows = Dataset.objects.filter(missing_since__isnull=True).order_by("pk").values_list("pk", "tier")
    ids, tiers = np.array(list(rows.iterator()), np.int64).reshape(-1, 2).T
    edges = LineageEdge.objects.order_by("upstream", "downstream").values_list("upstream", "downstream")
    pairs = np.fromiter((id_ for pair in edges.iterator() for id_ in pair), np.int64).reshape(-1, 2)
    pairs = pairs[np.isin(pairs, ids).all(axis=1)]
    upstreams, downstreams = np.searchsorted(ids, pairs).T
    return ids, Graph(upstreams=upstreams, downstreams=downstreams, tiers=tiers)


def trace(graph: Graph) -> Reach:
    """What stands on each dataset, counted here or on Spark."""
    down, up = questions(graph)
    if down.cost + up.cost <= MOST_HERE:
        return reach_of(graph, down, up, count_parts(down, down.parts), count_parts(up, up.parts))
    with TemporaryDirectory(prefix="assay-lineage-") as folder:
        np.savez(Path(folder) / "graph.npz", **vars(graph))
        subprocess.run(
            [sys.executable, "-P", "-m", "execution_engine.lineage.spark", folder],
            check=True,
            stdin=subprocess.DEVNULL,
        )
        with np.load(Path(folder) / "reach.npz") as arrays:
            return Reach(**arrays)


def write_reach(ids: Ints, graph: Graph, reach: Reach) -> int:
    """Write what has changed since the last time; how many rows have. A dataset without edges has none."""
    linked = np.union1d(graph.upstreams, graph.downstreams)
    values = {
        id_: {"by_tier": by_tier, "downstreams": sum(by_tier), "roots": roots, "depth": depth}
        for id_, by_tier, roots, depth in zip(
            ids[linked].tolist(),
            reach.by_tier.T[linked].tolist(),
            reach.roots[linked].tolist(),
            reach.depths[linked].tolist(),
            strict=True,
        )
    }
    stored = {row["dataset_id"]: row for row in BlastRadius.objects.values("pk", "dataset_id", *FIELDS)}
    changed = [
        BlastRadius(pk=stored.get(id_, {}).get("pk"), dataset_id=id_, **value)
        for id_, value in values.items()
        if id_ not in stored or any(stored[id_][name] != part for name, part in value.items())
    ]
    gone = stored.keys() - values.keys()
    for part in in_parts(gone):
        BlastRadius.objects.filter(dataset__in=part).delete()
    BlastRadius.objects.bulk_create([row for row in changed if row.pk is None], batch_size=IN_ONE)
    update_each([row for row in changed if row.pk is not None], FIELDS)
    return len(changed) + len(gone)
