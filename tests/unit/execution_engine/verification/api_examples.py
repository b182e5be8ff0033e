"""The examples of docs/verification-api.md by name: lines of doctest, of ``Check`` calls with the status they come to.

They run in the tests, those of one name after those before it. ``api_rows`` has the data that they are about.
"""

import re

_OF_CHECKS = """
Check().has_size(10)  # success
Check(where="city = 'rome'").has_size(at_least(6), hint="rome is the largest city")  # failure
Check().is_complete("ride_id")  # success
Check().is_complete("city")  # failure
Check().has_completeness("city", at_least(0.9))  # success
Check().are_complete("city", "fare")  # failure
Check().are_complete("city", "fare", where="ride_id < 9")  # success
Check().have_completeness(("city", "fare"), 0.9)  # success
Check().is_unique("ride_id")  # failure
Check().is_unique("ride_id", "city")  # success
Check().has_uniqueness("ride_id", at_least(0.8))  # success
Check().has_distinctness("ride_id", 0.9)  # success
Check().has_unique_value_ratio("ride_id", between(0.8, 0.9))  # success
Check().has_count_distinct("city", 2)  # success
Check().has_count_distinct(("city", "rider_id"), 5)  # success
Check().has_count_distinct(("city", "rider_id"), 7, nulls="keep")  # success
Check().has_approx_count_distinct("city", between(2, 3))  # success
Check().is_primary_key("ride_id")  # failure
Check().is_primary_key("ride_id", where="city is not null")  # success
Check().refers_to("rider_id", "riders")  # failure
Check().refers_to("rider_id", "riders", at_least(0.8))  # success
Check().has_min("fare", at_least(0))  # failure
Check().has_max("fare", at_most(20))  # success
Check().has_mean("fare", between(9, 10))  # success
Check().has_mean("city", between(9, 10))  # error
Check().has_sum("tip", 21)  # success
Check().has_standard_deviation("fare", below(7))  # success
Check().has_quantile("fare", 0.5, 8)  # success
Check().has_approx_quantile("fare", 0.5, between(4, 12))  # success
Check().has_entropy("city", above(0.6))  # success
Check().has_mutual_information("city", "country", above(0.6))  # success
Check().has_correlation("fare", "tip", above(0.9))  # success
Check().has_ratio_of("city", "rome", at_most(0.5))  # success
Check().has_histogram_values("city", lambda found: found.ratio("rome") <= 0.5)  # success
Check().has_predictability("country", "city", at_least(0.9), score="recall")  # success
Check().has_pattern("city", "^(rome|oslo)$")  # success
Check().contains_email("note", 0.25)  # success
Check().contains_email("note", 0)  # failure
Check().contains_url("note", 0.25)  # success
Check().contains_url("note", 0)  # failure
Check().contains_credit_card_number("note", 0.25)  # success
Check().contains_credit_card_number("note", 0)  # failure
Check().contains_social_security_number("note", 0.25)  # success
Check().contains_social_security_number("note", 0)  # failure
Check().has_min_length("code", at_least(1))  # success
Check().has_max_length("city", at_most(4))  # success
Check().has_consistent_type("code", at_least(0.7))  # success
Check().has_data_type("code", "numeric", at_least(0.8))  # success
Check().satisfies("fare > tip", at_least(0.8))  # success
Check().satisfies("fare > tip", name="the tip is a part")  # failure
Check().satisfies_if("city = 'rome'", "country = 'IT'")  # success
Check().is_in_range("fare", (0, 20))  # failure
Check().is_in_range("city", ("rome", "oslo"))  # success
Check().is_contained_in("city", ["rome", "oslo"])  # success
Check().is_non_negative("fare", at_least(0.9))  # success
Check().is_positive("tip")  # failure
Check().is_less_than("tip", "fare", at_least(0.8))  # success
Check().holds("completeness(fare) = 1 by city for 60 % of groups")  # success
Check().holds("max(fare) <= 2 * mean(fare)")  # failure
Check().has_no_anomalies(SIZE, OnlineNormal(std_devs=3))  # success
Check().has_no_anomalies(metric("mean", "fare"), BatchNormal())  # learning
Check().adding(Check().has_size(10).constraints[0])  # success
Check().bounded("no long texts", metric("max_length", "city"), at_most(4))  # success
"""
_OTHERS = r"""
# VerificationSuite
>>> suite = VerificationSuite()
# VerificationSuite.on
>>> VerificationSuite().on("lake/rides").name
'rides'
# Verification
>>> verification = VerificationSuite().on(rides, "rides").add_check(Check().is_unique("ride_id"))
>>> today = ResultKey.of(date(2026, 3, 10))
# Verification.add_check
>>> more = verification.add_check(Check(Level.WARNING, "size").has_size(10))
>>> len(verification.checks), len(more.checks)
(1, 2)
# Verification.with_table
>>> check = Check().refers_to("rider_id", "riders", at_least(0.8))
>>> print(VerificationSuite().on(rides).with_table("riders", riders).add_check(check).run())
Success(refers_to(rider_id, riders), referential_integrity(rider_id, 'riders') >= 0.8)
# Verification.use_repository
>>> repository = InMemoryRepository()
>>> _ = verification.use_repository(repository, today).run()
>>> [dict(run.values) for run in repository.load()]
[{'uniqueness(ride_id)': 0.8}]
# Verification.add_up
>>> check = Check().has_size(20).has_completeness("city", 0.9)
>>> states = FolderOfStates(folder / "deltas")
>>> growing = VerificationSuite().on(rides).add_check(check)
>>> _ = growing.add_up(states, ResultKey.of(date(2026, 3, 9))).run()
>>> growing.add_up(states, today).run().status.value
'success'
# Verification.run
>>> print(verification.run())
Failure(is_unique(ride_id), uniqueness(ride_id) = 1, 0.8)
# Verification.failing_rows
>>> found = verification.failing_rows(verification.run(), limit=10)
>>> [(row.values[0], row.breaks) for row in found.rows]
[('9', ('uniqueness(ride_id)',)), ('9', ('uniqueness(ride_id)',))]
# Check
>>> check = Check(Level.ERROR, "integrity").is_complete("id").has_size(at_least(1000))
>>> [constraint.text for constraint in check.constraints]
['is_complete(id)', 'has_size()']
# equal_to
>>> equal_to(0.3)(0.1 + 0.2)
True
>>> equal_to(9007199254740993)(9007199254740992)
False
# at_least
>>> at_least(0.5)(0.5)
True
# at_most
>>> at_most(0.5)(0.5)
True
# above
>>> above(0.5)(0.5)
False
# below
>>> below(0.5)(0.5)
False
# between
>>> between(1, 2)(2)
True
>>> between(2, 1)
Traceback (most recent call last):
ValueError: nothing lies between 2 and 1: write the lower bound first
# Bound
>>> at_least(0.99).text
'>= 0.99'
>>> Bound("is even", lambda rows: rows % 2 == 0)(4)
True
# Bound.__call__
>>> at_least(3)(2)
False
# metric
>>> metric("quantile", "fare", arguments=[0.5]).text
'quantile(fare, 0.5)'
# SIZE
>>> SIZE.text
'row_count()'
# Histogram
>>> found = Histogram(bins=2, counts={"rome": 3, None: 1}, ratios={"rome": 0.75, None: 0.25})
>>> found.bins
2
# Histogram.count
>>> found.count("rome"), found.count("oslo")
(3, 0)
# Histogram.ratio
>>> found.ratio("rome"), found.ratio("oslo")
(0.75, 0.0)
# Profile
>>> empty = Profile(name="rides", rows=0, columns={}, profiled_rows=0)
>>> empty.rows
0
# Profile.of
>>> import pyarrow as pa
>>> found = Profile.of(pa.table({"city": ["rome", "oslo", None], "fare": [4.0, 8.0, 12.0]}), "rides")
>>> found.rows, found.columns["city"]["complete"], found.columns["fare"]["numbers"]["mean"]
(3, 0.6666666666666666, 8)
# Profile.to_json
>>> Profile(name="rides", rows=0, columns={}, profiled_rows=0).to_json()
'{"table": "rides", "rows": 0, "profiled_rows": 0, "columns": []}'
# Profile.to_html
>>> empty = Profile(name="rides", rows=0, columns={}, profiled_rows=0)
>>> "<title>rides</title>" in empty.to_html()
True
# SimpleThreshold
>>> SimpleThreshold(lower=950).expected([1000, 1010])
(950, inf)
# SimpleThreshold.expected
>>> SimpleThreshold(lower=1, upper=2).expected([])
(1, 2)
# AbsoluteChange
>>> AbsoluteChange(max_decrease=50, max_increase=60).expected([980, 1000])
(950, 1060)
# AbsoluteChange.expected
>>> AbsoluteChange(max_decrease=5, max_increase=5, order=2).expected([10, 20])
(25, 35)
# RelativeRateOfChange
>>> RelativeRateOfChange(min_rate=0.5, max_rate=2, order=2).expected([100, 300])
(50.0, 200)
# RelativeRateOfChange.expected
>>> RelativeRateOfChange(max_rate=2).expected([0])
(0.0, 0.0)
# BatchNormal
>>> BatchNormal(std_devs=2).expected([9.0, 10.0, 11.0])
(8.0, 12.0)
# BatchNormal.expected
>>> BatchNormal(std_devs=1).expected([9.0, 10.0, 11.0])
(9.0, 11.0)
# OnlineNormal
>>> low, high = OnlineNormal(std_devs=3).expected([100, 102, 98, 100, 500])
>>> low < 100 < high < 500
True
# OnlineNormal.expected
>>> OnlineNormal(std_devs=2).expected([9.0, 11.0, 9.0, 11.0])
(8.0, 12.0)
# Adaptive
>>> low, high = Adaptive().expected([100, 104, 98, 101, 99, 40, 30] * 8)
>>> 65 < low < 100 < high < 130
True
# Adaptive.expected
>>> Adaptive(min_values=2).expected([5.0, 5.0, 5.0])
(5.0, 5.0)
# Adaptive.expected_in
>>> from execution_engine.anomalies.series import Series
>>> Adaptive(min_values=2).expected_in(Series(values=(5.0, 5.0, 5.0)))
(5.0, 5.0)
# Predictive
>>> low, high = Predictive(alarms=0.05).expected([9, 10, 11, 10, 9, 10, 11, 10])
>>> round(low, 2), round(high, 2)
(8.1, 11.9)
# Predictive.expected
>>> Predictive(min_values=2).expected([5.0, 5.0, 5.0])
(5.0, 5.0)
# HoltWinters
>>> week = [100, 101, 99, 100, 102, 40, 30]
>>> low, high = HoltWinters().expected(week * 4)
>>> round(low), round(high)
(100, 100)
# HoltWinters.expected
>>> HoltWinters(period=2).expected([1.0, 1.0, 1.0, 1.0])
(1.0, 1.0)
# HoltWinters.expected_in
>>> from execution_engine.anomalies.series import Series
>>> HoltWinters(period=2).expected_in(Series(values=(1.0, 1.0, 1.0, 1.0)))
(1.0, 1.0)
# SeasonalTrend
>>> week = [100, 101, 99, 100, 102, 40, 30]
>>> low, high = SeasonalTrend().expected(week * 3)
>>> round(low), round(high)
(100, 100)
# SeasonalTrend.expected
>>> SeasonalTrend(period=2).expected([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
(1.0, 1.0)
# SeasonalTrend.expected_in
>>> from execution_engine.anomalies.series import Series
>>> SeasonalTrend(period=2).expected_in(Series(values=(1.0,) * 6))
(1.0, 1.0)
# VerificationResult
>>> check = Check(Level.ERROR, "integrity").has_size(10).is_complete("city")
>>> result = VerificationSuite().on(rides, "rides").add_check(check).run()
>>> result.metrics
{'row_count()': 10.0, 'completeness(city)': 0.9}
>>> print(result)
Success(has_size(), row_count() = 10)
Failure(is_complete(city), completeness(city) = 1, 0.9)
# VerificationResult.status
>>> result.status
<Status.ERROR: 'error'>
# VerificationResult.failed
>>> [each.message for each in result.failed]
['completeness(city) = 0.9, wanted = 1']
# VerificationResult.to_dataframe
>>> table = result.to_dataframe()
>>> list(table.columns)
['check', 'level', 'on', 'check_status', 'constraint', 'status', 'metric', 'bound', 'value', 'exact',
 'message', 'hint']
>>> list(table.status)
['success', 'failure']
# VerificationResult.to_rows
>>> [row["bound"] for row in result.to_rows()]
['= 10', '= 1']
# VerificationResult.to_dict
>>> list(result.to_dict())
['table', 'status', 'constraints', 'metrics', 'spark_jobs', 'read_by', 'seconds', 'snapshots']
# VerificationResult.to_json
>>> result.to_json()[:24]
'{\n  "table": "rides",\n  '
# CheckResult
>>> CheckResult(name="integrity", level=Level.ERROR, constraints=()).status
<Status.SUCCESS: 'success'>
# CheckResult.status
>>> CheckResult(name="size", level=Level.WARNING, constraints=()).status.value
'success'
# ConstraintResult
>>> said = {"constraint": "is_unique(id)", "metric": "uniqueness(id)", "bound": "= 1", "message": "…"}
>>> print(ConstraintResult(status=ConstraintStatus.FAILURE, value=0.9967, **said))
Failure(is_unique(id), uniqueness(id) = 1, 0.9967)
# Status
>>> Status.UNABLE.value
'unable'
# ConstraintStatus
>>> ConstraintStatus.LEARNING == "learning"
True
# Level
>>> Level("warning")
<Level.WARNING: 'warning'>
# ResultKey
>>> ResultKey(at=datetime(2026, 3, 10, tzinfo=UTC)) == ResultKey.of(date(2026, 3, 10))
True
# ResultKey.of
>>> key = ResultKey.of(date(2026, 3, 10), region="eu")
>>> key.at.isoformat(), key.tags
('2026-03-10T00:00:00+00:00', (('region', 'eu'),))
# StoredMetrics
>>> stored = StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10})
# MetricsRepository
>>> repository: MetricsRepository = InMemoryRepository()
# MetricsRepository.save
>>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10}))
# MetricsRepository.load
>>> [run.values for run in repository.load()]
[{'row_count()': 10}]
# InMemoryRepository
>>> repository = InMemoryRepository()
>>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10}))
# InMemoryRepository.save
>>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 11)), values={"row_count()": 12}))
# InMemoryRepository.load
>>> [run.values["row_count()"] for run in repository.load()]
[10, 12]
# FileRepository
>>> repository = FileRepository(folder / "metrics.jsonl")
# FileRepository.save
>>> repository.save(StoredMetrics(key=ResultKey.of(date(2026, 3, 10)), values={"row_count()": 10}))
# FileRepository.load
>>> [run.values["row_count()"] for run in repository.load()]
[10.0]
# DeltaStates
>>> deltas: DeltaStates = FolderOfStates(folder / "deltas")
# DeltaStates.note
>>> deltas.note(ResultKey.of(date(2026, 3, 10)))
# DeltaStates.add_up
>>> result = VerificationSuite().on(rides).add_check(Check().has_size(10)).add_up(deltas, today).run()  # calls both
# FolderOfStates
>>> states = FolderOfStates(folder / "states")
>>> first, second = ResultKey.of(date(2026, 3, 10)), ResultKey.of(date(2026, 3, 11))
# FolderOfStates.save
>>> states.save(first, SIZE, b"10")
# FolderOfStates.before
>>> states.before(second, SIZE)
[b'10']
# FolderOfStates.note
>>> states.note(first)
# FolderOfStates.missing
>>> states.missing(second, SIZE), states.missing(second, metric("mean", "fare"))
([], [datetime.datetime(2026, 3, 10, 0, 0)])
# FolderOfStates.add_up
>>> result = VerificationSuite().on(rides).add_check(Check().has_size(10)).add_up(states, today).run()  # calls it
# verify_batch
>>> check, states = Check().has_size(between(10, 20)), BatchStates(folder / "stream")
>>> _ = verify_batch(rides, 0, check, states)
>>> print(verify_batch(rides, 1, check, states))  # rides.writeStream.foreachBatch(…) calls a function with both
batch 1:
Success(has_size() on delta, row_count() between 10 and 20)
in all:
Success(has_size(), row_count() between 10 and 20)
>>> verify_batch(rides, 1, check, states).total.metrics  # a batch that comes again counts once
{'row_count()': 20.0}
# BatchStates
>>> BatchStates("s3://quality/streams/rides").file
's3://quality/streams/rides/batches.states'
# BatchStates.file
>>> BatchStates("/streams/rides").file
'/streams/rides/batches.states'
# BatchResult
>>> result = verify_batch(rides, 2, check, states)
>>> result.batch.status.value, result.total.status.value, result.is_replay
('success', 'error', False)
# BatchResult.status
>>> result.status.value
'error'
# UnableToAssert
>>> Check().holds("completness(id) = 1")
Traceback (most recent call last):
execution_engine.verification.constraints.UnableToAssert: Cannot accept the assertion: there is no ...
# UnableToProfile
>>> Profile.of("nowhere/rides.parquet")
Traceback (most recent call last):
...
execution_engine.verification.profile.UnableToProfile: ...nowhere/rides.parquet...
# UnableToReadRepository
>>> _ = (folder / "broken.jsonl").write_text("[]" + chr(10))
>>> FileRepository(folder / "broken.jsonl").load()
Traceback (most recent call last):
execution_engine.verification.repository.UnableToReadRepository: ...broken.jsonl:1: it is no ...
"""


def _by_name() -> dict[str, str]:
    """Those of checks by the method that each calls, the others by the name above them."""
    found = {name: example + "\n" for name, example in re.findall(r"^# (.+)\n((?:(?!# ).+\n)+)", _OTHERS, re.MULTILINE)}
    for line, method in re.findall(r"^(Check\(.*?\)\.(\w+)\(.*)$", _OF_CHECKS, re.MULTILINE):
        found[f"Check.{method}"] = found.get(f"Check.{method}", "") + line + "\n"
    return found


EXAMPLES = _by_name()
