"""Random queries over two tables of daily partitions, in SQL that SQLite and all our dialects read alike."""

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

FIRST = date(2026, 3, 1)
DAYS = [f"{FIRST + timedelta(days=number)}" for number in range(16)]
NEAR = [*DAYS, "2026-02-27", "2026-03-30", "2026-03-1", "2026-03", "2026-03-09 05:00"]
TABLES = ("raw.trips", "raw.rides")
JOINS = ("join", "inner join", "left join", "right join", "full join", "cross join", ",")


@dataclass(frozen=True)
class From:
    """A place in a FROM, and the columns by which its rows are told: a day and a number."""

    sql: str
    alias: str
    day: str
    number: str


class Queries:
    """Draws one query; what it draws is kept, so that aliases are new and WITHs are found."""

    def __init__(self, dice: Random) -> None:
        self.dice, self.count, self.withs = dice, 0, dict[str, tuple[str, str]]()

    def one_of(self, *choices: str) -> str:
        return self.dice.choice(choices)

    def chance(self, of: int) -> bool:
        return self.dice.randint(1, of) == 1

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def statement(self) -> str:
        """The whole text."""
        parts = []
        for _ in range(self.dice.randint(0, 2)):
            name = self.one_of("c", "w", "trips")
            if name not in self.withs:
                query, columns = self.query(1)
                parts.append(f"{name} as ({query})")
                self.withs[name] = columns
        query, _ = self.query(2)
        return f"with {', '.join(parts)} {query}" if parts else query

    def query(self, depth: int) -> tuple[str, tuple[str, str]]:
        """A select, or several of them in one, and its two columns."""
        sql, columns = self.select(depth)
        for _ in range(self.chance(6)):
            other, _ = self.select(depth - 1, explicit=True)
            if " as " in sql.split(" from ")[0]:  # not a star, whose places nobody knows
                sql = f"{sql} {self.one_of('union all', 'union', 'except', 'intersect')} {other}"
        return sql, columns

    def select(self, depth: int, *, explicit: bool = False) -> tuple[str, tuple[str, str]]:
        """One select."""
        sources, sql = self.joined(depth)
        where = f" where {self.condition(sources, depth)}" if not self.chance(5) else ""
        of = self.dice.choice(sources)
        day, number = f"{of.alias}.{of.day}", f"{of.alias}.{of.number}"
        if len(sources) == 1 and not explicit and self.chance(4):
            return f"select * from {sql}{where}", (of.day, of.number)
        shown, count = self.name("d"), self.name("n")
        form = self.dice.randint(1, 9)
        if form == 1:
            return f"select {day} as {shown}, count(*) as {count} from {sql}{where} group by {day}", (shown, count)
        if form == 2:
            return f"select {day} as {shown}, max({number}) as {count} from {sql}{where} group by 1", (shown, count)
        if form == 3:
            over = self.one_of(f"partition by {day} order by {number}", f"partition by {number}", f"order by {day}")
            return f"select {day} as {shown}, sum({number}) over ({over}) as {count} from {sql}{where}", (shown, count)
        if form == 4:
            return f"select max({day}) as {shown}, count(*) as {count} from {sql}{where}", (shown, count)
        if form == 5:
            made = self.one_of(
                f"coalesce({day}, '2026-03-05')", f"case when {number} > 2 then {day} end", "'2026-03-07'"
            )
            return f"select {made} as {shown}, {number} as {count} from {sql}{where}", (shown, count)
        if form == 6 and not explicit:
            cut = f"select {day} as {shown}, {number} as {count} from {sql}{where} order by 1 desc, 2 limit 3"
            return f"select {shown} as {shown}, {count} as {count} from ({cut}) x", (shown, count)
        distinct = "distinct " if self.chance(5) else ""
        return f"select {distinct}{day} as {shown}, {number} as {count} from {sql}{where}", (shown, count)

    def joined(self, depth: int) -> tuple[list[From], str]:
        """Sources, and the text that joins them."""
        sources = [self.source(depth)]
        sql = sources[0].sql
        for _ in range(self.dice.choice((0, 0, 1, 1, 2))):
            right, join = [self.source(depth)], self.one_of(*JOINS)
            text = right[0].sql
            if depth > 0 and self.chance(6):
                right, text = self.joined(0)
                text = f"({text})" if len(right) > 1 else text
            sources += right
            on = f" on {self.condition(sources, depth - 1)}" if join not in (",", "cross join") else ""
            sql = f"{sql} {join} {text}{on}"
        return sources, sql

    def source(self, depth: int) -> From:
        """A table, a WITH or a query in brackets."""
        alias = self.name("t")
        if self.withs and self.chance(2):
            name = self.one_of(*self.withs)
            return From(f"{name} {alias}", alias, *self.withs[name])
        if depth > 0 and self.chance(3):
            query, columns = self.query(depth - 1)
            return From(f"({query}) {alias}", alias, *columns)
        return From(f"{self.one_of(*TABLES)} {alias}", alias, "day", "id")

    def condition(self, sources: list[From], depth: int) -> str:
        """What rows must pass."""
        form = self.dice.randint(1, 8) if depth > 0 else 9
        if form == 1:
            return f"({self.condition(sources, depth - 1)} or {self.condition(sources, depth - 1)})"
        if form in (2, 3):
            return f"({self.condition(sources, depth - 1)} and {self.condition(sources, depth - 1)})"
        if form == 4:
            return f"not ({self.condition(sources, depth - 1)})"
        if form == 5 and self.chance(3):
            inner, sql = self.joined(0)
            correlated = self.condition([*sources, *inner], 0)
            no = self.one_of("", "not ")
            return f"{no}exists (select 1 from {sql} where {correlated} and {self.condition(inner, 0)})"
        return self.leaf(sources)

    def leaf(self, sources: list[From]) -> str:
        """One comparison."""
        of, other = (self.dice.choice(sources) for _ in range(2))
        alone = [each.day for each in sources].count(of.day) == 1
        day = of.day if alone and self.chance(2) else f"{of.alias}.{of.day}"
        near = [self.one_of(*NEAR) for _ in range(3)]
        operator = self.one_of("=", "<", "<=", ">", ">=", "<>")
        return self.one_of(
            f"{day} {operator} '{near[0]}'",
            f"'{near[0]}' {operator} {day}",
            f"{day} between '{min(near)}' and '{max(near)}'",
            f"{day} not between '{near[0]}' and '{near[1]}'",
            f"{day} in ('{near[0]}', '{near[1]}', '{near[2]}')",
            f"{day} not in ('{near[0]}', '{near[1]}')",
            f"{day} like '2026-03-{self.one_of('0%', '1_', '%', '09')}'",
            f"{day} = {other.alias}.{other.day}",
            f"{of.alias}.{of.number} < {other.alias}.{other.number} + 1",
            f"{day} is null",
            f"{day} is not null",
            f"coalesce({day}, '{near[0]}') = '{near[0]}'",
            f"case when {day} < '{near[0]}' then 1 else 0 end = {self.dice.randint(0, 1)}",
            f"{day} = date('{self.one_of(*DAYS)}')",
            f"{of.alias}.{of.number} in (select id from raw.rides where day {operator} '{near[1]}')",
        )
