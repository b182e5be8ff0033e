"""Joins that multiply: each must say what brings its rows together, or add one row only."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlglot import exp

from .functions import AGGREGATE, GENERATOR, called
from .refusal import Refusal, names, safe_excerpt

# The tables that a query reads: those it was given, or its own WITH; and the parts of its conditions.

MAX_READS = 64  # places where a table is read, once every WITH is written out


def places_of(tree: exp.Expr) -> tuple[exp.Table, ...]:
    """The places that name a table rather than a WITH."""
    return tuple(table for table in tree.find_all(exp.Table) if cte_of(table) is None)


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The WITH that the place names, by Spark's rule: the nearest around it; in a WITH only those before.

    One that is recursive may name itself. Not by sqlglot's scopes: they take ``secret`` of ``from secret as x join c
    as x`` for c, tell cases apart, and know neither LATERAL VIEW nor the queries in SET, VALUES, MERGE and CACHE.
    """
    if table.args.get("db") or table.args.get("catalog"):
        return None
    name = table.name.lower()
    inner: exp.Expr = table
    while (around := inner.parent) is not None:
        with_ = around if isinstance(around, exp.With) else around.args.get("with_")
        if with_ is not None and with_ is not inner:
            ctes: list[exp.CTE] = with_.expressions
            at = next((at for at, cte in enumerate(ctes) if cte is inner), None)
            before = ctes if at is None else ctes[: at + bool(with_.args.get("recursive"))]
            for cte in reversed(before):
                if cte.alias.lower() == name:
                    return cte
        inner = around
    return None


def check_places(places: Sequence[exp.Table], tables: Collection[str]) -> Refusal | None:
    """The first place that names none of ``tables``."""
    for place in places:
        if not all(isinstance(part, exp.Identifier) for part in place.parts):
            return Refusal(what="a function is not the name of a table", mend="name a table").at(place)
    unknown = next((place for place in places if name_of(place) not in tables), None)
    if unknown is None:
        return None
    allowed = ", ".join(sorted(tables)) or "none"
    return Refusal(
        what=f"there is no table {safe_excerpt(name_of(unknown))}", mend=f"tables it may read: {allowed}"
    ).at(unknown)


def name_of(place: exp.Table) -> str:
    """The name as the caller's list has it."""
    return ".".join(part.name for part in place.parts)


def check_names_of_ctes(tree: exp.Query) -> Refusal | None:
    """The first WITH that takes the name of another beside it; case does not matter to Spark."""
    for with_ in tree.find_all(exp.With):
        seen: set[str] = set()
        for cte in with_.expressions:
            if cte.alias.lower() in seen:
                return Refusal(what=f"two WITH are called {safe_excerpt(cte.alias)}", mend="name them apart").at(cte)
            seen.add(cte.alias.lower())
    return None


def check_reads(tree: exp.Query) -> Refusal | None:
    """Spark writes every WITH out where it is named: twenty, each naming the one before twice, are a million reads."""
    ctes = list(tree.find_all(exp.CTE))
    reads: dict[str, int] = {}
    for _ in range(len(ctes) + 1):
        if _count(tree, reads) > MAX_READS:
            return Refusal(what=f"it reads tables in more than {MAX_READS} places", mend="aggregate once and reuse")
        before, reads = reads, {}
        for cte in ctes:
            name = cte.alias.lower()
            reads[name] = max(reads.get(name, 1), _count(cte.this, before))
        if before == reads:
            break
    return None


def _count(node: exp.Expr, reads: Mapping[str, int]) -> int:
    tables = node.find_all(exp.Table)
    return sum(1 if table.args.get("db") else reads.get(table.name.lower(), 1) for table in tables)


def parts_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conjuncts of a condition."""
    waiting = [condition]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.right, node.left]
        else:
            yield node


MAX_JOINS = 16
# functions that tell most values apart, so that what they make equal belongs together
_KEEPS_APART = names(
    """
    lower upper lcase ucase trim ltrim rtrim btrim concat concat_ws lpad coalesce ifnull nvl
    cast try_cast string bigint int date timestamp to_date try_to_date to_timestamp try_to_timestamp date_add date_sub
    add_months date_trunc trunc date_format from_utc_timestamp to_utc_timestamp make_date timestamp_micros
    timestamp_millis timestamp_seconds from_unixtime unix_timestamp hex unhex base64 unbase64 md5 sha sha1 sha2 xxhash64
    substr substring split_part regexp_replace replace
    """
)
LEAST_LENGTH = 4  # of what is left of a text
_FIRST = frozenset({"coalesce", "ifnull", "nvl"})  # which give their first argument, where it is not null
_UNITS, _COARSE = frozenset({"date_trunc", "trunc"}), names("year yyyy yy quarter decade century millennium")
_FORMATS = frozenset({"date_format", "from_unixtime"})
_LENGTHS = {"substr": 2, "substring": 2, "lpad": 1, "left": 1, "right": 1}
_ANYTHING = frozenset({".*", ".+", ".", "^.*$", "(.*)", "[\\s\\S]*", ".*$", "^.*"})
_OF_ONE_VALUE = names("min max any_value first first_value last last_value mode median sum avg mean")
_PLAIN = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Cast, exp.TryCast, exp.DataType, exp.Add, exp.Sub,
          exp.DPipe, exp.Interval, exp.Var, exp.Neg)  # fmt: skip


def check_joins(tree: exp.Expr) -> Refusal | None:
    """The first join whose rows no equality of columns of both sides brings together, save with a single row."""
    joins = list(tree.find_all(exp.Join))
    if len(joins) > MAX_JOINS:
        return Refusal(what=f"it has more than {MAX_JOINS} joins", mend="split it").at(joins[MAX_JOINS])
    loose = next((join for join in joins if not _is_bound(join)), None)
    if loose is None:
        return None
    what = "a join says nothing about which rows belong together"
    mend = "write ON a.key = b.key or USING (key); without either, one side must be a single row of aggregates"
    return Refusal(what=what, mend=mend).at(loose)


def _is_bound(join: exp.Join) -> bool:
    if _gives_one_row(join.this):
        return True
    select, name = join.parent, join.alias_or_name.lower()
    if using := join.args.get("using"):
        places = _places(select) if isinstance(select, exp.Select) else [join.this]
        return all(_tells_apart(place, key.name.lower()) for place in places for key in using)
    if not isinstance(select, exp.Select):
        return False
    sources = _sources(select)
    others, where = sources.keys() - {name}, select.args.get("where")
    conditions = (join.args.get("on"), where.this if where else None)  # from a, b where a.key = b.key
    ties = [tie for condition in conditions if condition for tie in parts_of(condition) if _ties(tie, name, others)]
    return any(_is_of_rows(tie, sources) for tie in ties)


def _places(select: exp.Select) -> list[exp.Expr]:
    from_ = select.args.get("from_") or select.args.get("from")
    return [*([from_.this] if from_ else []), *(join.this for join in select.args.get("joins") or ())]


def _sources(select: exp.Select) -> dict[str, exp.Expr]:
    """What a select reads, by the names by which it calls it."""
    return {place.alias_or_name.lower(): place for place in _places(select)}


def _is_of_rows(tie: exp.Expr, sources: Mapping[str, exp.Expr]) -> bool:
    """Whether each column of an equality differs from row to row where it is made, be that a subquery or a WITH."""
    for column in tie.find_all(exp.Column):
        *path, name = [part.name.lower() for part in column.parts]
        source = next((sources[part] for part in path if part in sources), None)
        if source is not None and not _tells_apart(source, name):
            return False
    return True


def _tells_apart(source: exp.Expr, name: str) -> bool:
    """Whether a column of a source may tell its rows apart, as one of a table may, and ``0 as k`` of a subquery not."""
    inner: exp.Expr | None = source.this if isinstance(source, exp.Subquery) else None
    alias = source.args.get("alias")
    if isinstance(source, exp.Table) and (cte := cte_of(source)) is not None:
        inner, alias = cte.this, alias if alias and alias.columns else cte.args.get("alias")
    if inner is None:
        return True
    renamed = [column.name.lower() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    return _gives_apart(inner, name, renamed.index(name) if name in renamed else None)


def _gives_apart(query: exp.Expr, name: str, at: int | None) -> bool:
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    if isinstance(query, exp.SetOperation):
        if at is None:
            at = next((number for number, column in enumerate(query.named_selects) if column.lower() == name), None)
        return _gives_apart(query.left, name, at) and _gives_apart(query.right, name, at)
    if not isinstance(query, exp.Select):
        return False
    named = [column for column in query.expressions if column.alias_or_name.lower() == name]
    if at is not None and at < len(query.expressions):
        named = [query.expressions[at]]
    if not named or isinstance(named[0], exp.Star):
        return all(_tells_apart(place, name) for place in _places(query))
    made = named[0].unalias()
    if isinstance(made, exp.Window) and called(made.this) == "row_number":
        return True
    if called(made) in _OF_ONE_VALUE | GENERATOR:
        made = made.expressions[0] if made.expressions else made
    if called(made) == "sequence":
        return True
    columns, sources = list(made.find_all(exp.Column)), _sources(query)
    if not columns or not all(map(_keeps_apart, made.walk())):
        return False
    return all(
        _tells_apart(place, column.name.lower())
        for column in columns
        for key, place in sources.items()
        if not column.table or column.table.lower() == key
    )


def _ties(node: exp.Expr, name: str, others: set[str]) -> bool:
    """Whether it is an equality of columns of ``name`` alone on one side, and of other sources alone on the other."""
    if not isinstance(node, exp.EQ | exp.NullSafeEQ):
        return False
    sides: list[set[str]] = []  # the sources whose columns each is made of
    for side in (node.left, node.right):
        columns = [[part.name.lower() for part in column.parts] for column in side.find_all(exp.Column)]
        if len({".".join(parts) for parts in columns}) < len(columns) or not all(map(_keeps_apart, side.walk())):
            return False  # it may make different rows equal: ``id * 0``, ``id - id``
        sides.append({next((part for part in parts[:-1] if part in {name, *others}), "") for parts in columns})
    left, right = sides
    return (left == {name} and bool(right) and right <= others) or (right == {name} and bool(left) and left <= others)


def _keeps_apart(node: exp.Expr) -> bool:
    """Whether different values stay so: not where a function's literals leave little of one: ``substr(id, 1, 0)``."""
    if isinstance(node, exp.Cast | exp.TryCast):
        return not node.is_type("boolean")
    if not isinstance(node, exp.Anonymous):
        return isinstance(node, _PLAIN)
    name, arguments = called(node), node.expressions
    texts = [part.name.lower() if isinstance(part, exp.Literal) and part.is_string else "" for part in arguments]
    at, second = _LENGTHS.get(name, len(arguments)), texts[1] if len(texts) > 1 else None
    length = arguments[at] if at < len(arguments) else None
    is_number = isinstance(length, exp.Literal) and not length.is_string and length.name.isdigit()
    is_long = length is not None and is_number and len(length.name) < 10 and int(length.name) >= LEAST_LENGTH
    return name in _KEEPS_APART and not (
        (name in _FIRST and bool(arguments) and arguments[0].find(exp.Column) is None)
        or (name in _UNITS and any(text in _COARSE for text in texts))
        or (name in _FORMATS and second is not None and "d" not in second)
        or (name == "regexp_replace" and second in _ANYTHING)
        or (length is not None and not is_long)
    )


def _gives_one_row(source: exp.Expr) -> bool:
    """Whether it is a select of aggregates alone, in brackets or a WITH."""
    cte = cte_of(source) if isinstance(source, exp.Table) else None
    select = source.this if isinstance(source, exp.Subquery) else cte.this if cte else None
    if not isinstance(select, exp.Select) or select.args.get("group") or select.args.get("laterals"):
        return False
    for column in select.expressions:
        aggregates = [call for call in column.find_all(exp.Anonymous) if called(call) in AGGREGATE]
        if not aggregates or any(isinstance(call.parent, exp.Window) for call in aggregates):
            return False
    return bool(select.expressions)
