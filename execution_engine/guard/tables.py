"""The tables that a query reads: those it was given, or its own WITH; and the parts of its conditions."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlglot import exp

from .characters import shown
from .refusal import Refusal

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
            for cte in reversed(_before(inner, with_)):
                if cte.alias.lower() == name:
                    return cte
        inner = around
    return None


def _before(inner: exp.Expr, with_: exp.With) -> Sequence[exp.CTE]:
    """Those of a WITH that may be named at ``inner``: all, unless it is one of them."""
    ctes: list[exp.CTE] = with_.expressions
    at = next((at for at, cte in enumerate(ctes) if cte is inner), None)
    return ctes if at is None else ctes[: at + bool(with_.args.get("recursive"))]


def check_places(places: Sequence[exp.Table], tables: Collection[str]) -> Refusal | None:
    """The first place that names none of ``tables``."""
    for place in places:
        if not all(isinstance(part, exp.Identifier) for part in place.parts):
            return Refusal(what="a function is not the name of a table", mend="name a table").at(place)
    unknown = next((place for place in places if name_of(place) not in tables), None)
    if unknown is None:
        return None
    known = ", ".join(sorted(tables)) or "none"
    return Refusal(what=f"there is no table {shown(name_of(unknown))}", mend=f"tables it may read: {known}").at(unknown)


def name_of(place: exp.Table) -> str:
    """The name as the caller's list has it."""
    return ".".join(part.name for part in place.parts)


def check_names_of_ctes(tree: exp.Query) -> Refusal | None:
    """The first WITH that takes the name of another beside it; case does not matter to Spark."""
    for with_ in tree.find_all(exp.With):
        seen: set[str] = set()
        for cte in with_.expressions:
            if cte.alias.lower() in seen:
                return Refusal(what=f"two WITH are called {shown(cte.alias)}", mend="name them apart").at(cte)
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
