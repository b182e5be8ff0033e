"""What the figures were measured on."""

import os
import platform

import psutil


def machine() -> str:
    """This one, in a line; the load is what else it had to do just before."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory().total / 2**30
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{_processor()}, {cores} cores, {memory:.0f} GB, {system}, load {os.getloadavg()[0]:.1f} before"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
