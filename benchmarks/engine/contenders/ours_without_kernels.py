"""Assay's engine with the kernels off: Spark's SQL reads all values, as ``ASSAY_SPARK_NATIVE=false`` says."""

from .ours import WITHOUT_KERNELS, Ours


class OursWithoutKernels(Ours):
    """What the kernels save is the rest."""

    options = WITHOUT_KERNELS


CONTENDER = OursWithoutKernels
