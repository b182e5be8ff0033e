"""The functions of Spark that users may call, by what they are, and which arguments make values grow or are patterns.

One that is in no list is refused.
"""

from datetime import date
from itertools import groupby
from math import prod

from sqlglot import exp

from .refusal import Refusal, names, safe_excerpt

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


def called(call: exp.Expr | None) -> str:
    """The name of the function, in lower case; empty where it is no call of one."""
    return str(call.name).lower() if isinstance(call, exp.Anonymous) else ""


def check_functions(tree: exp.Expr, allowed: frozenset[str]) -> Refusal | None:
    """The first call in ``tree`` of anything but a bare name in ``allowed``."""
    for call in tree.find_all(exp.Anonymous):
        name = called(call)
        is_qualified = isinstance(call.parent, exp.Dot) and call.arg_key == "expression"  # system.builtin.upper(…)
        if name in PAIRED and len(call.expressions) % 2:
            return Refusal(what=f"{name} takes pairs", mend="write a key and its value each time").at(call)
        if name in allowed and isinstance(call.this, str) and not is_qualified:
            continue
        if name in allowed:
            mend = f"write {name}(…), without quotes and without a schema"
            return Refusal(what=f"{safe_excerpt(name)} is called by another name than its own", mend=mend).at(call)
        elsewhere = "what looks at more than one row belongs into query(…)" if name in IN_QUERIES else _ELSE
        return Refusal(what=f"{safe_excerpt(name)} is not allowed", mend=BECAUSE.get(name, elsewhere)).at(call)
    return None


# Calls that make much out of little: their size must be written down, and small.

MAX_SEQUENCE = 10_000  # elements of all sequences of one statement, multiplied
MAX_GENERATORS = 3
MAX_DOUBLINGS = 8
_STEPWISE = frozenset({"aggregate", "reduce"})
_REPLACES = frozenset({"replace", "regexp_replace", "overlay"})
_LENGTHENS = _REPLACES | names("hex bin base64 url_encode quote to_json to_varchar sentences")
_JOINS_TEXTS = names(
    "concat concat_ws array_join array array_append array_union flatten map_concat struct named_struct"
)
_LOOPS = names(
    """
    transform filter exists forall zip_with transform_keys transform_values map_filter map_zip_with aggregate reduce
    array_join concat_ws split array_sort
    """
)
_NUMERIC = names(
    """
    abs ceil ceiling floor round bround greatest least sign signum pmod mod coalesce ifnull nvl nvl2 if case nullif sqrt
    power pow exp ln length size cardinality cast bigint int double isnull isnotnull
    """
)
_LONGEST = {  # the argument that says how much, and the most it may say
    **dict.fromkeys(("repeat", "lpad", "rpad", "array_repeat", "array_insert"), (1, 1_000)),
    **dict.fromkeys(("round", "bround", "ceil", "ceiling", "floor", "format_number"), (1, 100)),
    "space": (0, 1_000),
}
_GROWING = frozenset({"repeat", "lpad", "rpad", "array_repeat", "space", "sequence"})
_DAYS = {"day": 1, "week": 7, "month": 28, "year": 365}


def check_growth(tree: exp.Expr) -> Refusal | None:
    """The first call whose size is computed or large, or that multiplies another's."""
    calls, sizes = list(tree.find_all(exp.Anonymous)), []
    for call in calls:
        name, arguments = called(call), call.expressions
        at, most = _LONGEST.get(name, (0, None))
        size = _whole(arguments[at]) if most is not None and at < len(arguments) else 0
        if most is not None and (size is None or abs(size) > most):
            return Refusal(what=f"{name} must say its size, at most {most:,}", mend="write a literal number").at(call)
        outer = call.parent if name in _GROWING else None
        while outer is not None and called(outer) not in _GROWING:
            outer = outer.parent
        if outer is not None:
            what = f"{name} stands inside {called(outer)}"
            return Refusal(what=what, mend="one multiplies the other; use one").at(call)
        if name == "sequence":
            sizes.append(size := _sequence_size(arguments))
            if size is None or prod(filter(None, sizes)) > MAX_SEQUENCE:
                what = f"a sequence must say its ends, of numbers or dates, and have at most {MAX_SEQUENCE:,} elements"
                mend = "write literals, a step of whole days, and multiply no sequences"
                return Refusal(what=what, mend=mend).at(call)
    for call in calls:
        for step in call.expressions if called(call) in _STEPWISE else ():
            values = {value.name.lower() for value in step.expressions[:1]}
            if isinstance(step, exp.Lambda) and _multiplies(step.this, values):
                what = f"each step of {called(call)} may multiply the length of what it has so far"
                return Refusal(what=what, mend="use that once in each step, and add to it").at(call)
    doubling = [node for node in tree.find_all(exp.Anonymous, exp.DPipe) if _doubles(node)]
    if len(doubling) > MAX_DOUBLINGS:  # each may be made of the last
        what = f"more than {MAX_DOUBLINGS} of its calls may double the length of a value"
        mend = "name a value once in a call, and use fewer"
        return Refusal(what=what, mend=mend).at(doubling[MAX_DOUBLINGS])
    generators = [call for call in calls if called(call) in GENERATOR]
    if len(generators) > MAX_GENERATORS:
        what = f"it explodes more than {MAX_GENERATORS} times"
        return Refusal(what=what, mend="aggregate in between").at(generators[-1])
    return None


def _multiplies(body: exp.Expr, values: set[str]) -> bool:
    """Whether a value called so stands twice in a text or list, in a loop of its own, or is written out longer."""
    for node in body.walk():
        if isinstance(node, exp.DPipe) or (isinstance(node, exp.Anonymous) and called(node) not in _NUMERIC):
            uses = sum(name.name.lower() in values for name in node.find_all(exp.Identifier))
            if uses > 1 or (uses and called(node) in _LENGTHENS | _GROWING | _LOOPS):
                return True
    return False


def _doubles(node: exp.Expr) -> bool:
    """Whether it may double the length of a value: what ``replace`` writes is longer than what it replaces, or so."""
    if isinstance(node, exp.DPipe) and isinstance(node.parent, exp.DPipe):
        return False  # counted with the outermost
    name, arguments = called(node) or "concat", node.expressions
    if name in _LENGTHENS:
        if name not in _REPLACES:
            return True
        if len(arguments) < 3:
            return False
        pattern, text = arguments[1], arguments[2]
        if not (isinstance(text, exp.Literal) and isinstance(pattern, exp.Literal)):
            return True
        return len(text.name) > max(1, len(pattern.name) if len(arguments) == 3 else 1)  # of a pattern one character
    columns = [".".join(part.name.lower() for part in column.parts) for column in node.find_all(exp.Column)]
    return name in _JOINS_TEXTS and len(set(columns)) < len(columns)


def _sequence_size(arguments: list[exp.Expr]) -> int | None:
    """The number of elements, rounded up; None where the text does not tell."""
    if len(arguments) not in (2, 3):
        return None
    start, stop = (_whole(node) if (day := _day(node)) is None else day for node in arguments[:2])
    step: int | None = 1
    if len(arguments) == 3:
        step = _whole(arguments[2])
        if isinstance(arguments[2], exp.Interval):
            days = _DAYS.get(arguments[2].text("unit").lower().removesuffix("s"))
            count = _digits(arguments[2].text("this"))
            step = None if days is None or count is None else days * count
    if start is None or stop is None or not step:
        return None
    return abs(stop - start) // abs(step) + 1


def _day(node: exp.Expr) -> int | None:
    """The day that a literal date names, as a number."""
    named = node.this if isinstance(node, exp.Cast) and node.is_type("date") else None
    if called(node) in {"to_date", "date"} and len(node.expressions) == 1:
        named = node.expressions[0]
    if not (isinstance(named, exp.Literal) and named.is_string):
        return None
    try:
        return date.fromisoformat(named.name).toordinal()
    except ValueError:
        return None


def _whole(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return _digits(node.name) if isinstance(node, exp.Literal) and not node.is_string else None


def _digits(text: str) -> int | None:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    return sign * int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


# Patterns: a literal of bounded length against data; a match of constants runs where nothing can stop it.

MAX_PATTERN = 200
MAX_WILDCARDS = 4  # the time to match grows by the length of the text with each
_PATTERN_ARGUMENTS = {
    **dict.fromkeys(("like", "ilike", "rlike", "regexp", "regexp_like", "regexp_count", "regexp_extract"), (1,)),
    **dict.fromkeys(("regexp_extract_all", "regexp_instr", "regexp_replace", "regexp_substr", "split"), (1,)),
    "str_to_map": (1, 2),
    "from_json": (1,),
}


def check_patterns(tree: exp.Expr) -> Refusal | None:
    """The first pattern that is computed, too long, or matched against a constant."""
    for node in tree.find_all(exp.Like, exp.ILike, exp.RegexpLike):
        patterns = node.expression
        while isinstance(patterns, exp.Any | exp.All | exp.Paren):
            patterns = patterns.this
        kind = "rlike" if isinstance(node, exp.RegexpLike) else "like"
        for pattern in patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns]:  # like any ('a', 'b')
            if refusal := _check_pattern(kind, node.this, pattern):
                return refusal
    for call in tree.find_all(exp.Anonymous):
        arguments = call.expressions
        for at in _PATTERN_ARGUMENTS.get(called(call), ()):
            if at < len(arguments) and (refusal := _check_pattern(called(call), arguments[0], arguments[at])):
                return refusal
    return None


def _check_pattern(kind: str, subject: exp.Expr, pattern: exp.Expr) -> Refusal | None:
    text = pattern.name
    if not (isinstance(pattern, exp.RawString) or (isinstance(pattern, exp.Literal) and pattern.is_string)):
        refusal = Refusal(what=f"the pattern of {kind} is computed", mend="write it as one literal")
    elif kind == "from_json" and text.lstrip()[:1] not in ("{", '"', "["):
        return None  # in Spark's DDL; one in JSON can name a class
    elif kind == "from_json":
        refusal = Refusal(what="a schema in JSON is not allowed", mend="write it as 'a int, b array<string>'")
    elif len(text) > MAX_PATTERN:
        what = f"a pattern has more than {MAX_PATTERN} characters"
        refusal = Refusal(what=what, mend="shorten it, or use several")
    elif kind in ("like", "ilike") and sum(letter == "%" for letter, _ in groupby(text)) > MAX_WILDCARDS:
        what = f"a pattern has more than {MAX_WILDCARDS} wildcards %"
        refusal = Refusal(what=what, mend="use several, joined by AND")
    elif subject.find(exp.Identifier) is None:
        refusal = Refusal(what=f"{kind} is applied to a constant", mend="apply it to a column")
    else:
        return None
    return refusal.at(pattern)
