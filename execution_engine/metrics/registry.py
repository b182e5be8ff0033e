"""Every metric there is: a file beside its siblings and one line here."""

from collections.abc import Mapping

from execution_engine.metrics.definitions.age import AGE
from execution_engine.metrics.definitions.approx_count_distinct import APPROX_COUNT_DISTINCT
from execution_engine.metrics.definitions.bloom import BLOOM_FILTER, KEY_DIGEST, KEYS_FOUND
from execution_engine.metrics.definitions.completeness import COMPLETENESS
from execution_engine.metrics.definitions.compliance import COMPLIANCE
from execution_engine.metrics.definitions.correlation import CORRELATION
from execution_engine.metrics.definitions.data_type import CONSISTENT_TYPE
from execution_engine.metrics.definitions.distribution import ENTROPY, MOST_FREQUENT_SHARE, MUTUAL_INFORMATION
from execution_engine.metrics.definitions.freshness import FRESHNESS
from execution_engine.metrics.definitions.histogram import HISTOGRAM
from execution_engine.metrics.definitions.implication import SATISFIES_IF
from execution_engine.metrics.definitions.lengths import MAX_LENGTH, MIN_LENGTH
from execution_engine.metrics.definitions.less_than import LESS_THAN
from execution_engine.metrics.definitions.numeric import MAX, MEAN, MIN, STDDEV, SUM
from execution_engine.metrics.definitions.other_tables import ACCURACY, REFERENTIAL_INTEGRITY
from execution_engine.metrics.definitions.pattern_match import PATTERN_MATCH
from execution_engine.metrics.definitions.predictability import PREDICTABILITY
from execution_engine.metrics.definitions.quantile import APPROX_QUANTILE, QUANTILE
from execution_engine.metrics.definitions.query import QUERY
from execution_engine.metrics.definitions.row_count import ROW_COUNT
from execution_engine.metrics.definitions.sample import SAMPLE, SAMPLE_FOUND, SAMPLE_SIZE
from execution_engine.metrics.definitions.schema_drift import SCHEMA_DRIFT
from execution_engine.metrics.definitions.schema_match import SCHEMA_MATCH
from execution_engine.metrics.definitions.sign import NON_NEGATIVE, POSITIVE
from execution_engine.metrics.definitions.uniqueness import (
    COUNT_DISTINCT,
    DISTINCT_COUNT,
    DISTINCTNESS,
    UNIQUE_VALUE_RATIO,
    UNIQUENESS,
)
from execution_engine.metrics.definitions.unpartitioned_rows import UNPARTITIONED_ROWS
from execution_engine.metrics.definitions.value_range import IN_RANGE
from execution_engine.metrics.definitions.value_share import RATIO_OF

from .definition import MetricDefinition
from .signature import Signature

DEFINITIONS = (
    # of the table
    ROW_COUNT,
    COMPLIANCE,
    SATISFIES_IF,
    SCHEMA_MATCH,
    SCHEMA_DRIFT,
    QUERY,
    FRESHNESS,
    UNPARTITIONED_ROWS,
    # of a column
    COMPLETENESS,
    PATTERN_MATCH,
    CONSISTENT_TYPE,
    MIN_LENGTH,
    MAX_LENGTH,
    APPROX_COUNT_DISTINCT,
    RATIO_OF,
    HISTOGRAM,
    # of a column of times
    AGE,
    # of a column of numbers
    MIN,
    MAX,
    MEAN,
    SUM,
    STDDEV,
    QUANTILE,
    APPROX_QUANTILE,
    IN_RANGE,
    NON_NEGATIVE,
    POSITIVE,
    # of how often values and keys occur
    DISTINCT_COUNT,
    COUNT_DISTINCT,
    UNIQUENESS,
    DISTINCTNESS,
    UNIQUE_VALUE_RATIO,
    ENTROPY,
    MOST_FREQUENT_SHARE,
    # of two columns or more
    CORRELATION,
    MUTUAL_INFORMATION,
    LESS_THAN,
    PREDICTABILITY,
    # of two tables
    REFERENTIAL_INTEGRITY,
    ACCURACY,
    SAMPLE,
    SAMPLE_SIZE,
    SAMPLE_FOUND,
    KEY_DIGEST,
    BLOOM_FILTER,
    KEYS_FOUND,
)

METRICS: Mapping[str, MetricDefinition] = {metric.name: metric for metric in DEFINITIONS}
SIGNATURES: Mapping[str, Signature] = {name: metric.signature for name, metric in METRICS.items()}
