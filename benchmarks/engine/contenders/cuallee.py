"""cuallee: one ``Check`` with a rule for each, validated over a DataFrame."""

from collections.abc import Callable, Mapping

from cuallee import Check as Rules
from cuallee import CheckLevel

from benchmarks.engine.session import expert_session
from benchmarks.engine.suite import Check

from .protocol import Answer, Task

Rule = Callable[[Rules, Check, int], Rules]
ALMOST = 0.99  # of the rows; its distinct counts leave out keys with a null


class Cuallee:
    """Row counts come with every validation; whatever else is a rule.

    Its rules on min, max, mean and stddev compare for equality only. They are run, but what they say is not compared.
    """

    cannot = frozenset({"min", "max", "mean", "stddev"})

    def prepare(self, task: Task) -> None:
        """The rules, in the order of the checks, and how many rows there should be."""
        self.session = expert_session()
        self.path = task.path
        self.rows = next(int(check.low) for check in task.checks if check.name == "row_count")
        self.names = [check.name for check in task.checks if check.name != "row_count"]
        self.rules = Rules(CheckLevel.WARNING, "trips")
        for check in task.checks:
            if check.name != "row_count":
                RULES[check.spec.name](self.rules, check, self.rows)

    def run(self) -> Answer:
        """The checks that failed."""
        found = self.rules.validate(self.session.read.parquet(self.path)).collect()
        failed = {name for name, row in zip(self.names, found, strict=True) if row["status"] != "PASS"}
        miscounted = {"row_count"} if found[0]["rows"] != self.rows else set()
        return Answer(checks=1 + len(found), failed=frozenset(failed | miscounted))


def _complete(rules: Rules, check: Check, rows: int) -> Rules:
    return rules.is_complete(check.spec.columns[0], pct=check.low)


def _condition(rules: Rules, check: Check, rows: int) -> Rules:
    """A condition belongs to a column of the table: the one it begins with."""
    condition = str(check.spec.arguments[0])
    return rules.satisfies(condition.split()[0], condition)


def _pattern(rules: Rules, check: Check, rows: int) -> Rules:
    return rules.has_pattern(check.spec.columns[0], str(check.spec.arguments[0]))


def _variety(rules: Rules, check: Check, rows: int) -> Rules:
    return rules.is_unique(check.spec.columns[0], pct=check.low / rows, approximate=True)


def _unique(rules: Rules, check: Check, rows: int) -> Rules:
    columns = check.spec.columns
    return rules.is_unique(columns[0]) if len(columns) == 1 else rules.is_composite_key(columns, pct=ALMOST)


RULES: Mapping[str, Rule] = {
    "completeness": _complete,
    "min": lambda rules, check, rows: rules.has_min(check.spec.columns[0], check.low),
    "max": lambda rules, check, rows: rules.has_max(check.spec.columns[0], check.high),
    "mean": lambda rules, check, rows: rules.has_mean(check.spec.columns[0], check.low),
    "stddev": lambda rules, check, rows: rules.has_std(check.spec.columns[0], check.low),
    "compliance": _condition,
    "pattern_match": _pattern,
    "approx_count_distinct": _variety,
    "uniqueness": _unique,
}
CONTENDER = Cuallee
