"""Every constraint of a check, measured by Spark over a DataFrame, against pandas, numpy and scipy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import Reason
from execution_engine.verification import (
    Check,
    ConstraintResult,
    ConstraintStatus,
    Status,
    Verification,
    VerificationResult,
    VerificationSuite,
    at_least,
    between,
)
from tests.integration.verification.rides import RIDERS, RIDES, SCHEMA, as_pandas

Reference = Callable[[pd.DataFrame], float]


def key_counts(frame: pd.DataFrame, *columns: str) -> "pd.Series[int]":
    return frame.dropna(subset=list(columns)).groupby(list(columns)).size()


def entropy(frame: pd.DataFrame) -> float:
    return float(stats.entropy(key_counts(frame, "city")))


def information(frame: pd.DataFrame) -> float:
    a, b, both = (stats.entropy(key_counts(frame.dropna(), *columns)) for columns in (["city"], ["id"], ["city", "id"]))
    return float(a + b - both)


ANY = between(-1e9, 1e9)
VALUES: list[tuple[Check, Reference]] = [
    (Check().has_size(ANY), len),
    (Check().is_complete("city"), lambda f: f.city.notna().mean()),
    (Check().has_completeness("fare", ANY), lambda f: f.fare.notna().mean()),
    (Check().are_complete("id", "city"), lambda f: f[["id", "city"]].notna().all(axis=1).mean()),
    (Check().have_completeness(("id", "city"), ANY), lambda f: f[["id", "city"]].notna().all(axis=1).mean()),
    (Check().is_unique("id"), lambda f: (~f.id.duplicated(keep=False)).mean()),
    (Check().has_uniqueness(["city", "id"], ANY), lambda f: (c := key_counts(f, "city", "id"))[c == 1].sum() / c.sum()),
    (Check().has_distinctness("city", ANY), lambda f: f.city.nunique() / f.city.count()),
    (Check().has_unique_value_ratio("id", ANY), lambda f: (key_counts(f, "id") == 1).mean()),
    (Check().has_count_distinct("city", ANY), lambda f: f.city.nunique()),
    (Check().has_approx_count_distinct("city", ANY), lambda f: f.city.nunique()),
    (Check().has_min("fare", ANY), lambda f: f.fare.min()),
    (Check().has_max("fare", ANY), lambda f: f.fare.max()),
    (Check().has_mean("fare", ANY), lambda f: f.fare.mean()),
    (Check().has_sum("fare", ANY), lambda f: f.fare.sum()),
    (Check().has_standard_deviation("fare", ANY), lambda f: np.nanstd(f.fare)),
    (Check().has_quantile("fare", 0.25, ANY), lambda f: np.nanquantile(f.fare, 0.25)),
    (Check().has_approx_quantile("fare", 1.0, ANY), lambda f: f.fare.max()),
    (Check().has_entropy("city", ANY), entropy),
    (Check().has_mutual_information("city", "id", ANY), information),
    (Check().has_correlation("fare", "tip", ANY), lambda f: f.fare.corr(f.tip)),
    (Check().has_histogram_values("city", lambda h: h.ratio("rome") == 0.4), lambda f: f.city.nunique(dropna=False)),
    (Check().has_min_length("email", ANY), lambda f: f.email.str.len().min()),
    (Check().has_max_length("email", ANY), lambda f: f.email.str.len().max()),
    (Check().has_pattern("city", "^ro"), lambda f: f.city.dropna().str.match("^ro").mean()),
    (Check().contains_email("email"), lambda f: f.email.dropna().str.contains("@").mean()),
    (Check().has_consistent_type("code"), lambda f: 2 / 4),
    (Check().has_data_type("code", "numeric"), lambda f: 3 / 4),
    (Check().has_ratio_of("city", "rome", ANY), lambda f: (f.city == "rome").mean()),
    (Check().is_in_range("fare", (0, 6)), lambda f: f.fare.dropna().between(0, 6).mean()),
    (Check().is_in_range("city", ("rome",)), lambda f: f.city.isin(["rome", None]).mean()),
    (Check().is_contained_in("id", [1, 2]), lambda f: f.id.isin([1, 2]).mean()),
    (Check().is_non_negative("fare"), lambda f: (f.fare.isna() | (f.fare >= 0)).mean()),
    (Check().is_positive("tip"), lambda f: (f.tip.isna() | (f.tip > 0)).mean()),
    (Check().is_less_than("tip", "fare"), lambda f: (f.tip < f.fare)[f.fare.notna()].mean()),
    (Check().satisfies("fare + tip > 5"), lambda f: (f.fare + f.tip > 5).mean()),
    (Check().satisfies_if("city = 'oslo'", "fare > 0"), lambda f: (f[f.city == "oslo"].fare > 0).mean()),
    (Check().refers_to("rider_id", "riders"), lambda f: f.rider_id.dropna().isin([1, 2, 3]).mean()),
    (Check().has_mean("fare", ANY, where="city = 'rome'"), lambda f: f[f.city == "rome"].fare.mean()),
    (Check(where="tip > 0.5").has_size(ANY, where="fare > 4"), lambda f: ((f.tip > 0.5) & (f.fare > 4)).sum()),
]


@pytest.fixture(scope="module")
def rides(spark_engine: SparkEngine) -> Verification:
    session = spark_engine.session
    frame = session.createDataFrame([tuple(row.values()) for row in RIDES], SCHEMA)
    riders = session.createDataFrame([tuple(row.values()) for row in RIDERS], "rider_id long")
    return VerificationSuite().on(frame, "rides").with_table("riders", riders)


@pytest.fixture(scope="module")
def all_of_them(rides: Verification) -> VerificationResult:
    return rides.add_check(*(check for check, _ in VALUES)).run()


def test_every_value_is_that_of_pandas_numpy_or_scipy(all_of_them: VerificationResult) -> None:
    found = {check.constraints[0].constraint: check.constraints[0] for check in all_of_them.checks}
    assert [each.message for each in found.values() if each.failure] == []
    values = [check.constraints[0].value for check in all_of_them.checks]
    assert values == pytest.approx([float(reference(as_pandas())) for _, reference in VALUES])


def test_all_checks_together_take_a_few_spark_jobs(all_of_them: VerificationResult) -> None:
    assert len(VALUES) > 30
    assert all_of_them.spark_jobs <= 12


def one(verification: Verification, check: Check) -> ConstraintResult:
    (found,) = verification.add_check(check).run().checks[0].constraints
    return found


def test_a_primary_key_is_there_in_every_row_and_in_no_two(rides: Verification) -> None:
    found = one(rides, Check().is_primary_key("id"))
    assert (found.constraint, found.status) == ("is_primary_key(id)", ConstraintStatus.FAILURE)


def test_the_users_own_function_judges_the_value_and_is_named(rides: Verification) -> None:
    def even(value: float) -> bool:
        return value % 2 == 0

    found = one(rides, Check().has_size(even, hint="rides come in pairs"))
    assert (found.status, found.value, found.hint) == (ConstraintStatus.FAILURE, 5, "rides come in pairs")
    assert found.message == "row_count() = 5, wanted meets even"


def test_a_function_that_raises_is_an_error_and_spoils_nothing_else(rides: Verification) -> None:
    def broken(value: float) -> bool:
        raise KeyError("quota")

    result = rides.add_check(Check().has_size(broken).has_size(5)).run()
    assert [each.status.value for each in result.checks[0].constraints] == ["error", "success"]
    assert "KeyError('quota')" in result.checks[0].constraints[0].message
    assert result.status is Status.UNABLE


def test_no_row_breaks_a_rule_where_none_is_asked_for(rides: Verification) -> None:
    found = one(rides, Check().satisfies_if("city = 'lima'", "fare > 0"))
    assert (found.status, found.message.endswith("there is no row to judge")) == (ConstraintStatus.SUCCESS, True)


def test_a_statistic_of_nothing_is_an_error_rather_than_held(rides: Verification) -> None:
    found = one(rides, Check(where="city = 'lima'").has_mean("fare", at_least(0)))
    assert found.failure is not None
    assert found.failure.reason is Reason.UNDEFINED


def test_assertions_of_the_language_may_have_groups_and_other_datasets(rides: Verification) -> None:
    by_city = one(rides, Check().holds("completeness(fare) = 1 by city for 60 % of groups"))
    assert by_city.status is ConstraintStatus.SUCCESS
    assert by_city.value == pytest.approx(2 / 3)
    ratio = one(rides, Check().holds("row_count() / row_count(dataset='riders') between 1 and 2", where="fare > 0"))
    assert (ratio.status, ratio.value) == (ConstraintStatus.SUCCESS, 1)


def test_a_query_reads_the_data_and_the_tables_given_beside_it(rides: Verification) -> None:
    query = "select count(*) from rides join riders on rides.rider_id = riders.rider_id where fare > 0"
    assert one(rides, Check().holds(f'query("{query}") = 3')).status is ConstraintStatus.SUCCESS


def test_a_dataset_that_was_not_given_is_an_error_that_says_how(rides: Verification) -> None:
    found = one(rides, Check().holds("row_count() = row_count(dataset='drivers')"))
    assert found.status is ConstraintStatus.ERROR
    assert "with_table(" in found.message


def test_failing_rows_say_what_they_break(rides: Verification) -> None:
    verification = rides.add_check(Check().is_unique("id").is_non_negative("fare").has_size(99))
    found = verification.failing_rows(verification.run(), 10)
    broken = {tuple(row.values[:3]): len(row.breaks) for row in found.rows}
    assert broken == {("4", "oslo", "-2.0"): 2, ("4", "oslo", "6.0"): 1}


def test_a_result_is_a_table_of_pandas_and_json(all_of_them: VerificationResult) -> None:
    table: Any = all_of_them.to_dataframe()
    assert len(table) == len(VALUES)
    assert set(table.status) == {"success", "failure"}
    assert '"uniqueness(id)": 0.6' in all_of_them.to_json()


def test_every_metric_of_the_papers_tables_has_a_constraint() -> None:
    asked = {ask.spec.name for check, _ in VALUES for constraint in check.constraints for ask in constraint.asks}
    of_other_kinds = {"predictability"}  # in the example
    paper = {name for name, metric in METRICS.items() if "Schelter et al." in metric.source}
    assert paper - asked - of_other_kinds == set()
