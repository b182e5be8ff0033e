"""Every metric there is: a file beside its siblings and one line here."""

from collections.abc import Mapping

from .bloom import BLOOM_FILTER, KEYS_FOUND
from .completeness import COMPLETENESS
from .compliance import COMPLIANCE
from .definition import MetricDefinition
from .distinct_count import DISTINCT_COUNT
from .freshness import FRESHNESS
from .numeric import MAX, MEAN, MIN, STDDEV, SUM
from .quantile import QUANTILE
from .query import QUERY
from .row_count import ROW_COUNT
from .sample import SAMPLE, SAMPLE_FOUND, SAMPLE_SIZE
from .signature import Signature

DEFINITIONS = (
    ROW_COUNT,
    COMPLETENESS,
    COMPLIANCE,
    DISTINCT_COUNT,
    MIN,
    MAX,
    MEAN,
    SUM,
    STDDEV,
    QUANTILE,
    QUERY,
    FRESHNESS,
    SAMPLE,
    SAMPLE_SIZE,
    SAMPLE_FOUND,
    BLOOM_FILTER,
    KEYS_FOUND,
)

METRICS: Mapping[str, MetricDefinition] = {metric.name: metric for metric in DEFINITIONS}
SIGNATURES: Mapping[str, Signature] = {name: metric.signature for name, metric in METRICS.items()}
