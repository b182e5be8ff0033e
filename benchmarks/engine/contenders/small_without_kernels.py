"""The thousand small tables with the kernels off, as ``ASSAY_SPARK_NATIVE=false`` says."""

from .ours import WITHOUT_KERNELS
from .small_together import SmallTogether


class SmallWithoutKernels(SmallTogether):
    """Tables of one schema share a query."""

    options = WITHOUT_KERNELS


CONTENDER = SmallWithoutKernels
