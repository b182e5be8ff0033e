"""The thousand small tables read by the process of the session, as ``ASSAY_SPARK_IN_PROCESS_BYTES`` says."""

from dataclasses import replace

from .ours import OPTIONS
from .small_together import SmallTogether

MOST_BYTES = 32 << 20  # of a part: all of the thousand are smaller


class SmallInProcess(SmallTogether):
    """Without a job of Spark's."""

    options = replace(OPTIONS, in_process_bytes=MOST_BYTES)


CONTENDER = SmallInProcess
