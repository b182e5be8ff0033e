"""Random texts of the assertion language, from a grammar written a second time."""

from dataclasses import dataclass
from random import Random

WORDS = ("row_count()", "completeness(email)", "mean(fare)", "last=7", "every=7d", "where='a = 1'", "city", "15 %")

NUMERIC, ANY_COLUMN = ("fare", "trip_id"), ("email", "fare", "city", "status", "trip_id", "started_at")
OF_ANY, OF_NUMBERS = ("completeness", "distinct_count"), ("mean", "min", "max", "sum", "stddev")
MANY, STEPS = ("mean", "median", "stddev", "min", "max"), ("7d", "1w", "1mo", "1y")
NUMBERS = ("0", "1", "2.5", ".5", "1e3", "0.99", "1000000", "1e300", "1e-300", "12345678901234567890")
SQL = ("'x'", '"a = 1"', "'it''s'", "\"d = '{window.start-1mo:date}'\"")
WRONG = ("nowhere", "'x'", "0d", "90m", "36h", "'{window.end:when}'", "-1", "1.5", "freshness()", "no_such()", "0")


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes texts; ``wild`` is how often it writes what does not fit."""

    random: Random
    wild: float = 0.0

    def assertion(self) -> str:
        """A whole assertion, with groups or without."""
        text = self.condition(self.random.choice((1, 1, 2, 3)))
        if self.random.random() < 0.6:
            return text
        columns = ", ".join(self.random.sample(ANY_COLUMN, self.random.choice((1, 1, 2, 3))))
        share = self.random.choice(("", "", f" for {self.one('95', '100', '0.5', '50')} % of groups"))
        return f"{text} by {columns}{share}"

    def condition(self, depth: int) -> str:
        """Comparisons, joined."""
        kind = self.random.randrange(8) if depth else 0
        if kind < 4:
            sign = self.random.choice(("<", "<=", "=", "==", "!=", ">", ">="))
            return f"{self.sum(depth)} {sign} {self.sum(depth)}"
        if kind == 4:
            negated = self.random.choice(("", "not "))
            return f"{self.sum(depth)} {negated}between {self.sum(0)} and {self.sum(0)}"
        if kind == 5:
            return f"not ({self.condition(depth - 1)})"
        terms = [self.condition(depth - 1) for _ in range(self.random.choice((2, 2, 3)))]
        word = self.random.choice(("and", "or", "AND"))
        return f"({f' {word} '.join(terms)})"

    def sum(self, depth: int) -> str:
        """Arithmetic."""
        kind = self.random.randrange(10) if depth else self.random.randrange(4)
        if kind < 2:
            return self.operand()
        if kind < 4:
            return self.one(*NUMBERS) + self.random.choice(("", "", " %"))
        if kind < 7:
            return f"({self.sum(depth - 1)} {self.random.choice('+-*/')} {self.sum(depth - 1)})"
        if kind == 7:
            return f"-{self.sum(depth - 1)}"
        if kind == 8:
            return f"abs({self.sum(depth - 1)})"
        arguments = ", ".join(self.sum(depth - 1) for _ in range(self.random.choice((1, 2, 3))))
        return f"{self.random.choice(('least', 'greatest', 'coalesce'))}({arguments})"

    def operand(self) -> str:
        """A metric, or a function of one over past windows."""
        if self.random.random() < 0.6:
            return self.metric(self.option("ago", *STEPS))
        count, every = self.one("1", "7", "28", "7", "1000"), self.option("every", *STEPS)
        if self.random.random() < 0.2:
            return f"lag({self.metric('')}, {count}{every})"
        name = self.one(*MANY, "last")
        least = "" if name == "last" else self.option("min", "1")
        return f"{name}({self.metric('')}, last={count}{every}{least})"

    def metric(self, ago: str) -> str:
        """A metric call."""
        options = self.option("where", *SQL) + self.option("datacenter", "'phx'") + ago
        match self.random.randrange(5):
            case 0:
                call = f"{self.one(*OF_ANY)}({self.one(*ANY_COLUMN)}"
            case 1:
                call = f"{self.one(*OF_NUMBERS)}({self.one(*NUMERIC)}"
            case 2:
                call = f"quantile({self.one(*NUMERIC)}, {self.one('0.5', '0.99')}"
            case 3:
                call = f"compliance({self.one(*SQL)}"
            case _:
                return f"row_count({options.removeprefix(', ')})"
        return f"{call}{options})"

    def option(self, name: str, *values: str) -> str:
        """An option, now and then."""
        return f", {name}={self.one(*values)}" if self.random.random() < 0.1 else ""

    def one(self, *fitting: str) -> str:
        """One of those that fit, or now and then one that does not."""
        return self.random.choice(WRONG if self.random.random() < self.wild else fitting)
