"""Every metric there is: a file beside its siblings and one line here."""

from collections.abc import Mapping

from .age import AGE
from .approx_count_distinct import APPROX_COUNT_DISTINCT
from .bloom import BLOOM_FILTER, KEY_DIGEST, KEYS_FOUND
from .completeness import COMPLETENESS
from .compliance import COMPLIANCE
from .correlation import CORRELATION
from .data_type import CONSISTENT_TYPE
from .definition import MetricDefinition
from .distribution import ENTROPY, MOST_FREQUENT_SHARE, MUTUAL_INFORMATION
from .freshness import FRESHNESS
from .histogram import HISTOGRAM
from .implication import SATISFIES_IF
from .lengths import MAX_LENGTH, MIN_LENGTH
from .less_than import LESS_THAN
from .numeric import MAX, MEAN, MIN, STDDEV, SUM
from .other_tables import ACCURACY, REFERENTIAL_INTEGRITY
from .pattern_match import PATTERN_MATCH
from .predictability import PREDICTABILITY
from .quantile import APPROX_QUANTILE, QUANTILE
from .query import QUERY
from .row_count import ROW_COUNT
from .sample import SAMPLE, SAMPLE_FOUND, SAMPLE_SIZE
from .schema_drift import SCHEMA_DRIFT
from .schema_match import SCHEMA_MATCH
from .sign import NON_NEGATIVE, POSITIVE
from .signature import Signature
from .uniqueness import COUNT_DISTINCT, DISTINCT_COUNT, DISTINCTNESS, UNIQUE_VALUE_RATIO, UNIQUENESS
from .unpartitioned_rows import UNPARTITIONED_ROWS
from .value_range import IN_RANGE
from .value_share import RATIO_OF

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
