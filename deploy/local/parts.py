"""What the service consists of beside its servers: the commands of compose.yaml, in the sizes of one machine."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Size:
    """How many processes there are; ``app`` is the Celery application that the workers run."""

    workers: int = 1  # of the stages
    concurrency: int = 2  # processes of each
    datacenters: Sequence[str] = ("sea",)
    scanners: int = 1  # workers of each datacenter
    threads: int = 2  # of each
    sweep_every: float = 1.0  # seconds
    app: str = "assay.celery"


def commands(size: Size, web_port: int) -> Iterator[tuple[str, list[str]]]:
    """Every process by name: ``web``, ``scheduler``, ``worker``, ``worker-2`` …, ``worker-sea``, ``worker-sea-2`` …"""
    yield "web", web(web_port)
    yield "scheduler", [assay(), "sweep", "--every", str(size.sweep_every)]
    for name in _numbered("worker", size.workers):
        how = ["--concurrency", str(size.concurrency), "--max-tasks-per-child", "200"]
        yield name, _worker(size.app, name, "assay", how)
    for place in size.datacenters:
        yield from workers_of(place, size)


def workers_of(datacenter: str, size: Size) -> Iterator[tuple[str, list[str]]]:
    """The workers beside the data of one datacenter, by name."""
    for name in _numbered(f"worker-{datacenter}", size.scanners):
        how = ["--pool", "threads", "--concurrency", str(size.threads)]
        yield name, _worker(size.app, name, f"assay.{datacenter}", how)


def web(port: int) -> list[str]:
    """The API and the dashboard."""
    gunicorn = [sys.executable, "-m", "gunicorn", "web.wsgi:application", f"--bind=127.0.0.1:{port}"]
    shared = ["--worker-tmp-dir=/dev/shm"] if Path("/dev/shm").is_dir() else []
    return [*gunicorn, "--workers=3", "--threads=4", *shared, "--no-control-socket", "--graceful-timeout=25"]


def assay() -> str:
    """The path of the command that users call."""
    return str(Path(sys.executable).with_name("assay"))


def _worker(app: str, name: str, queue: str, how: list[str]) -> list[str]:
    celery = [sys.executable, "-m", "celery", "-A", app, "worker", "--hostname", f"{name}@assay", "-Q", queue]
    return [*celery, *how, "--without-gossip", "--without-mingle", "--loglevel", "INFO"]


def _numbered(name: str, count: int) -> list[str]:
    return [name if number == 1 else f"{name}-{number}" for number in range(1, count + 1)]
