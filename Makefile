# `make` lists the targets. Each first makes .venv ready; PYTHON chooses the interpreter for that.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
ON_BOTH := tests/e2e/cases/test_ending_cases.py# of the stories
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest# else each process compiles anew
OF_ENGINE := $(addprefix tests/integration/,engines kernels verification)# whose tests run on any Spark
WORKERS := $(shell $(PYTHON) -c "import os; print(min(os.cpu_count(), 4))")# more leave tests with deadlines too little room
BESIDE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
UNIT := $(PYTEST) --quiet -p no:cacheprovider --hypothesis-profile quick -m "not thorough"
DBT := "dbt-duckdb==1.10.1" "dbt-core<1.12" numpy# numpy: DuckDB needs it for functions in Python
HALF := $(addprefix tests/unit/execution_engine/,anomalies engines language metrics profiles verification) $(wildcard tests/unit/test_*.py)# takes as long as the rest

.PHONY: help demo up docs test quick test-all whole mariadb test-cluster test-lake test-connect unit unit-half unit-other-half lint style types layers format lock audit texts service bench-engine bench-bloom bench-service bench-latency bench-pages bench-largest bench-sync bench-days bench-novelty bench-series bench-vitals bench-slices bench-rows bench-lake bench-cluster bench-drift bench-year fuzz dbt mutants zoo faults guards airflow house screenshot pictures run-ready dev-ready test-ready clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: run-ready ## Show the whole loop on real data, on this machine alone
	@$(BIN)/assay demo

up: run-ready ## Serve API, dashboard and workers in one process
	@$(BIN)/assay up

service: test-ready ## Run the whole service without Docker; CATALOG=FILE, PORT=8001, DATACENTERS=sea,phx; ONCE=1: live through a fortnight
	@PYTHONPATH=platform:. $(BIN)/python -m deploy.local $(if $(ONCE),--once) $(if $(CATALOG),--catalog $(CATALOG)) \
		$(if $(PORT),--port $(PORT)) $(if $(DATACENTERS),--datacenters $(DATACENTERS))

test: test-ready ## Check style, types and layers, and run the tests of a change, in ten minutes
	@$(MAKE) --no-print-directory style
	@$(MAKE) --no-print-directory --jobs 2 types layers quick

quick: test-ready
	$(PYTEST) $(BESIDE) -m "not whole" --durations 10
	$(BIN)/python tests/servers.py $(PYTEST) $(BESIDE) -m on_both tests/integration

test-all: test whole ## Run what CI runs: `make test`, then all other tests, and all that the database decides again on MariaDB

whole: test-ready
	@PYTHONPATH=platform:. $(BIN)/python -m tests.java
	$(PYTEST) $(BESIDE) -m whole --durations 20
	@$(MAKE) --no-print-directory test-lake FILES=tests/integration/engines/test_metrics_against_references.py
	ASSAY_FUZZ_STORIES=6 $(BIN)/python tests/servers.py $(PYTEST) $(BESIDE) -m django_db tests/integration tests/fuzz $(ON_BOTH)

mariadb: test-ready ## Run all that the database decides on MariaDB, and every story
	$(BIN)/python tests/servers.py $(PYTEST) $(BESIDE) -m django_db --ignore tests/zoo

test-cluster: test-ready ## Run the engine's tests on a standalone cluster of Spark: a master and two workers on this machine
	@PYTHONPATH=platform:. $(BIN)/python -m tests.java
	ASSAY_TEST_SPARK=cluster $(PYTEST) $(OF_ENGINE)

test-lake: test-ready ## Run the engine's tests over Iceberg, Delta, a folder of S3 and Iceberg on S3; STORAGES=delta FILES=…
	@PYTHONPATH=platform:. $(BIN)/python -m tests.java
	@for storage in $(or $(STORAGES),iceberg delta s3 s3-iceberg); do \
		echo "over $$storage"; ASSAY_TEST_STORAGE=$$storage $(PYTEST) $(BESIDE) $(or $(FILES),$(OF_ENGINE)) || exit 1; done

test-connect: test-ready ## Run the engine's tests on a Spark Connect server
	@PYTHONPATH=platform:. $(BIN)/python -m tests.java
	ASSAY_TEST_SPARK=connect $(PYTEST) $(OF_ENGINE)

unit: dev-ready ## Run the unit tests alone, in seconds
	@$(MAKE) --no-print-directory --jobs 2 --output-sync --keep-going unit-half unit-other-half

unit-half:
	@$(UNIT) $(HALF)

unit-other-half:
	@$(UNIT) tests/unit $(HALF:%=--ignore %)

bench-engine: dev-ready ## Measure the engine against its peers and a hand-written query, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.engine --full

bench-bloom: dev-ready ## Measure the Bloom filters beside what is wanted of them, at 5 million keys
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.bloom

bench-service: test-ready ## Measure what all processes of the service do in an hour, and a herd of 18,000 tests
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.service --docs

bench-latency: test-ready ## Measure look-ups and pages with 10 million runs and a million incidents behind them
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.service.latency --docs

bench-pages: test-ready ## Measure the CPU time of every page and every GET with 20,000 datasets, on SQLite and MariaDB
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.service.pages --docs

bench-largest: test-ready ## Measure the largest legal request of each kind, on SQLite and MariaDB
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.service.largest --docs

bench-sync: test-ready ## Measure plan, sync and a push of a catalog of 20,000 datasets with 80,000 edges, on SQLite and MariaDB
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.service.sync --docs

bench-days: test-ready ## Live through 30 simulated days of 100,000 runs, of which retention keeps seven
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.service.thirty_days --docs

bench-rows: dev-ready ## Measure what it costs to write the rows that broke a test, 1 % of a million
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.rows

bench-lake: dev-ready ## Measure tables in a store and of Iceberg beside a folder of this machine, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.lake --docs

bench-cluster: dev-ready ## Measure what forty checks cost client and executors of a cluster, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.lake.cluster --docs

bench-slices: dev-ready ## Measure how often the slice that explains a change is named, in days of flights
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.slices

bench-drift: dev-ready ## Measure how often drift of 500 columns raises a false alarm, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.drift --docs

bench-series: dev-ready ## Measure what anomaly() finds in real daily series by default, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.series --docs

bench-vitals: dev-ready ## Measure how often vital signs of tables are wrong, and what they find, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.vitals --docs

bench-novelty: dev-ready ## Measure who finds errors in real tables without a rule, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.novelty --docs
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.novelty.zoo --docs

bench-year: dev-ready ## Live through a year of flights with a random fault a week, and no rule by hand, into docs/benchmarks.md
	@PYTHONPATH=platform:. $(BIN)/python -m benchmarks.year --docs

fuzz: dev-ready ## Throw a million texts, 100,000 mutated attacks, 50,000 requests and 5,000 stories at it all (hours)
	ASSAY_FUZZ=full $(BIN)/pytest -s --timeout 0 tests/fuzz

house: dev-ready ## Print the figures of the house: files, functions, names, folders; FOLLOWED=1: the files that one follows
	@PYTHONPATH=platform:. $(BIN)/python -m tests.house.figures $(if $(FOLLOWED),--followed)

dbt: dev-ready ## Run the dbt project of examples/dbt beside a real `assay up`, with dbt in an environment of its own
	@test -x .dbt/bin/dbt || ($(PYTHON) -m venv .dbt && .dbt/bin/pip install --quiet $(DBT))
	@$(BIN)/python -m tests.dbt

screenshot: test-ready ## Take the README's pictures of the dashboard, as the last demo left it
	@PYTHONPATH=platform:. $(BIN)/python -m tests.browser.screenshot

pictures: test-ready ## Take pictures of all pages, and of some in four states of a company, into PLACE (/tmp/assay-pictures)
	@PICTURES=$(or $(PLACE),/tmp/assay-pictures) $(PYTEST) --quiet tests/browser/test_states.py tests/browser/test_axe.py

mutants: dev-ready ## Put 1,000 small faults into the code, one at a time: do the tests notice? (two hours; goes on where it stopped)
	@PYTHONPATH=platform:. $(BIN)/python -m tests.mutants

zoo: dev-ready ## Ask all metrics of 2,000 tables that strangers made, into docs/zoo.md (an hour and a half; goes on where it stopped)
	@PYTHONPATH=platform:. $(BIN)/python -m tests.zoo --docs

faults: test-ready ## Stage every fault on real processes and write what held into docs/reliability.md (hours; SCALE=0.1)
	@PYTHONPATH=platform:. $(BIN)/python -m tests.faults --docs --scale $(or $(SCALE),1)

guards: test-ready ## Take out what each fault experiment guards: does it fail? Into docs/reliability.md (an hour)
	@PYTHONPATH=platform:. $(BIN)/python -m tests.faults.guards --docs

docs: dev-ready ## Write what docs/ takes from the code: metrics.md, verification-api.md, the folders in architecture.md
	@for page in tests.unit.execution_engine.metrics.metrics_page tests.unit.execution_engine.verification.api_page tests.house.rooms; do \
		PYTHONPATH=platform:. $(BIN)/python -m $$page || exit 1; done

airflow: dev-ready ## Let a real Airflow 3 ask a real Assay, in .venv-airflow: blocked, mended, released (ten minutes the first time)
	@PYTHONPATH=platform:.:deploy/client $(BIN)/python -m tests.airflow

lint: style ## Check style, types and layers
	@$(MAKE) --no-print-directory --jobs 2 --output-sync types layers

style: dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev-ready
	$(BIN)/mypy

layers: dev-ready
	$(BIN)/lint-imports

format: dev-ready ## Rewrite the code in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: ## Resolve every dependency anew into deploy/locks
	@$(PYTHON) deploy/bootstrap.py lock

audit: ## Look for the locked dependencies in the public lists of known faults
	@$(PYTHON) deploy/bootstrap.py audit

run-ready:
	@$(PYTHON) deploy/bootstrap.py run

dev-ready:
	@$(PYTHON) deploy/bootstrap.py dev

test-ready:
	@$(PYTHON) deploy/bootstrap.py test

texts: dev-ready ## Bring the texts of the pages up to date in each language
	@PYTHONPATH=platform:. DJANGO_SETTINGS_MODULE=assay.settings $(BIN)/python -m tests.house.texts

clean: ## Remove what builds, tests and linters left; .assay (your data) stays
	rm -rf .venv .venv-airflow .dbt .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
