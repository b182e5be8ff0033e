"""The functions of Spark that users may call, by what they are; one that is in no list is refused."""

from sqlglot import exp

from execution_engine.guard.refusal import Refusal, names, shown

SCALAR = names(
    """
    abs acos acosh asin asinh atan atan2 atanh bround cbrt ceil ceiling cos cosh cot csc degrees div e exp expm1
    factorial floor greatest hypot least ln log log10 log1p log2 mod negative pi pmod positive pow power radians rint
    round sec sign signum sin sinh sqrt tan tanh try_add try_divide try_mod try_multiply try_subtract width_bucket
    bit_count bit_get getbit shiftleft shiftright shiftrightunsigned
    case coalesce equal_null if ifnull isnan isnotnull isnull nanvl nullif nullifzero nvl nvl2 zeroifnull
    ascii base64 bin bit_length btrim char char_length character_length chr concat concat_ws contains conv decode elt
    encode endswith find_in_set format_number hex ilike initcap instr is_valid_utf8 lcase left len length levenshtein
    like locate lower lpad ltrim luhn_check octet_length overlay parse_url position quote regexp regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse
    right rlike rpad rtrim sentences soundex space split split_part startswith substr substring substring_index
    to_binary to_char to_number to_varchar translate trim try_parse_url try_to_binary try_to_number try_url_decode
    ucase unbase64 unhex upper url_decode url_encode
    crc32 hash md5 sha sha1 sha2 xxhash64
    add_months convert_timezone curdate current_date current_timestamp current_timezone date_add date_diff date_format
    date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek
    dayofyear extract from_unixtime from_utc_timestamp hour last_day localtimestamp make_date make_dt_interval
    make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname
    months_between next_day now quarter second timestamp_micros timestamp_millis timestamp_seconds timestampadd
    timestampdiff to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc
    try_make_timestamp try_to_date try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp
    weekday weekofyear year
    aggregate array array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip cardinality element_at exists filter flatten forall get map map_concat
    map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with
    named_struct reduce sequence size slice sort_array str_to_map struct transform transform_keys transform_values
    try_element_at zip_with
    from_json get_json_object json_array_length json_object_keys to_json
    bigint binary boolean cast date decimal double float int smallint string timestamp tinyint try_cast typeof
    """
)
AGGREGATE = names(
    """
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
    collect_list collect_set corr count count_if covar_pop covar_samp every first first_value grouping grouping_id
    kurtosis last last_value listagg max max_by mean median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
    cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
    """
)
GENERATOR = frozenset({"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"})
OURS = frozenset({"build_bloom_filter", "use_bloom_filter"})

IN_CONDITIONS = SCALAR
IN_QUERIES = SCALAR | AGGREGATE | GENERATOR | OURS

PAIRED = frozenset({"map", "named_struct"})  # whose arguments are keys, or names, and values in turn

_BECAUSE = {
    "it runs code on the machine": "reflect java_method try_reflect",
    "it tells about the machine or the session": (
        "current_user user session_user current_catalog current_database current_schema current_path version "
        "input_file_name input_file_block_start input_file_block_length python_worker_logs"
    ),
    "it gives another answer each time": (
        "rand randn random randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id"
    ),
    "it names a thing by a text that cannot be checked": "identifier",
    "it may need any amount of memory": "printf format_string stack range window session_window",
    "it reads a format in which documents can refer to files": (
        "xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string "
        "from_xml to_xml schema_of_xml from_avro to_avro from_protobuf to_protobuf"
    ),
    "a test fails by its value": "raise_error assert_true",
}
_ELSE = "docs/security.md lists the functions that are"
BECAUSE = {name: reason for reason, names in _BECAUSE.items() for name in names.split()}


def check_functions(tree: exp.Expr, allowed: frozenset[str]) -> Refusal | None:
    """The first call in ``tree`` of anything but a bare name in ``allowed``."""
    return next((refusal for call in tree.find_all(exp.Anonymous) if (refusal := _check_call(call, allowed))), None)


def _check_call(call: exp.Anonymous, allowed: frozenset[str]) -> Refusal | None:
    name = called(call)
    if name in PAIRED and len(call.expressions) % 2:
        mend = "write a key and its value each time"
        return Refusal(what=f"{name} takes pairs", mend=mend).at(call)
    if name in allowed and isinstance(call.this, str) and not _is_qualified(call):
        return None
    if name in allowed:
        mend = f"write {name}(…), without quotes and without a schema"
        return Refusal(what=f"{shown(name)} is called by another name than its own", mend=mend).at(call)
    if name in BECAUSE:
        return Refusal(what=f"{shown(name)} is not allowed", mend=BECAUSE[name]).at(call)
    mend = "what looks at more than one row belongs into query(…)" if name in IN_QUERIES else _ELSE
    return Refusal(what=f"{shown(name)} is not allowed", mend=mend).at(call)


def _is_qualified(call: exp.Anonymous) -> bool:
    """Whether it stands behind the name of a schema, as in ``system.builtin.upper(…)``."""
    return isinstance(call.parent, exp.Dot) and call.arg_key == "expression"


def called(call: exp.Anonymous) -> str:
    """The name of the function, in lower case."""
    return str(call.name).lower()
