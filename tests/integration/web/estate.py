"""One dataset with a row of every kind, and what can be sent to each: what the matrix of access is tried on."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.serde import Serde
from openlineage.client.uuid import generate_new_uuid

from alerting.alerts.texts import LinkAction, token
from alerting.models import Silence
from assay.models import AccessToken, Binding, Dataset, DataTest
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Suspect
from execution_engine.outcome import Reason
from incident_manager.models import GateOverride, Publication, Report
from incident_manager.publication_state import PublicationState
from test_generator.models import Offer, PastReading
from test_generator.pushed_rules import read_template, write_template
from tests.factories import (
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    OfferFactory,
    ReportFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
    new_business_metric,
)
from web.api.feeds import EXPORTS

MONDAY = day("2026-03-09")
RANGE = {"from": "2026-03-09T00:00:00Z", "to": "2026-03-10T00:00:00Z"}
OF_MONDAY: Any = {"window_start": MONDAY.start, "window_end": MONDAY.end}
AROUND: Any = {"starts_at": NOW - HOUR, "ends_at": NOW + HOUR}
USUAL = {"severity": "soft", "sustain": "2h"}
PAGE_RANGE = {"start": "2026-03-09T00:00", "end": "2026-03-10T00:00"}


@dataclass(frozen=True, kw_only=True)
class Estate:
    """The dataset and what the braces of an address stand for."""

    dataset: Dataset
    names: dict[str, object]

    def address(self, template: str) -> str:
        return "/" + template.format(root="", **self.names)


def build(owner: str, other_member: str) -> Estate:
    """A dataset of ``owner`` with an open incident, an open report, a run, a quarantine, and a token of the owner."""
    dataset = DatasetFactory.create(
        owner=owner, team="", name=f"trips_of_{owner}", source="push", first_partition="2026-03-01"
    )
    test = DataTestFactory.create(dataset=dataset)
    incident = IncidentFactory.create(dataset=dataset, team="crew")
    SpoiltWindowFactory.create(incident=incident, data_test=test)
    StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken", value=90.0, excess=10.0)
    names = {
        "dataset": dataset.full_name,
        "metric": new_business_metric(dataset, name=f"count_of_{dataset.name}", team="").full_name,
        "test": test.pk,
        "incident": incident.pk,
        "team": incident.team,
        "report": _report(dataset).pk,
        "run": RunFactory.create(data_test=test).pk,
        "quarantine": _quarantine(test).pk,
        "silence": _silence(dataset).pk,
        "override": _override(dataset).pk,
        "publication": _publication(dataset).pk,
        "template": write_template(read_template(_rule(dataset)), author=owner, now=NOW).name,
        "binding": Binding.objects.create(
            pipeline="load", dataset=dataset, test=test.name, strength="weak", source="push"
        ).pk,
        "suggestion": _offer(dataset, "min(fare) >= 0", "offered").pk,
        "rejected": _offer(dataset, "max(fare) <= 100", "rejected").pk,
        "token": AccessToken.objects.create(User.objects.get(username=owner))[0].token_key,
        "member": other_member,
        "answer": token(incident.alert_id or 0, LinkAction.MUTE, now=NOW),
    }
    return Estate(dataset=dataset, names=names)


def _rule(dataset: Dataset, name: str = "rule") -> dict[str, Any]:
    """A template of the dataset's owner."""
    selector = {"owners": [dataset.owner]}
    return {
        "name": f"{name} of {dataset.owner}",
        "assertion": "row_count() > 0",
        "selector": selector,
        "severity": "soft",
    }


def _report(dataset: Dataset) -> Report:
    claim = IncidentFactory.create(dataset=dataset, kind="reported", open_key=f"report of {dataset.owner}")
    SpoiltWindowFactory.create(incident=claim, severity="soft")
    row: Report = ReportFactory.create(dataset=dataset, incident=claim)
    return row


def _silence(dataset: Dataset) -> Silence:
    return Silence.objects.create(dataset=dataset, **AROUND, author=dataset.owner, reason="Migration.")


def _override(dataset: Dataset) -> GateOverride:
    return GateOverride.objects.create(
        dataset=dataset, **OF_MONDAY, **AROUND, author=dataset.owner, reason="The report needs it."
    )


def _publication(dataset: Dataset) -> Publication:
    return Publication.objects.create(
        dataset=dataset,
        datacenter="sea",
        **OF_MONDAY,
        partition="2026-03-09",
        pointer="manifest:/lake/published",
        state=PublicationState.PUBLISHED,
        fingerprint="f" * 32,
        document={"location": "/lake/sea/trips", "files": [], "sha256": "0" * 64},
        author=dataset.owner,
        audited_at=NOW - HOUR,
        ended_at=NOW - HOUR,
    )


def _offer(dataset: Dataset, assertion: str, state: str) -> Offer:
    PastReading.objects.get_or_create(
        dataset=dataset, defaults={"datacenter": "sea", "asked_at": NOW - HOUR, "ended_at": NOW}
    )
    return OfferFactory.create(dataset=dataset, assertion=assertion, state=state)


def _quarantine(test: DataTest) -> Suspect:
    of = {"spec_hash": f"{test.pk:032d}", "spec_text": MetricSpec(name="row_count").text, "reason": Reason.TIMEOUT}
    at = dict.fromkeys(("first_at", "last_at", "quarantined_at"), NOW)
    return Suspect.objects.create(dataset=test.dataset, datacenter="sea", ends=3, **OF_MONDAY, **of, **at)


def body(method: str, template: str, estate: Estate) -> Any:
    """What is sent to an address of the API: parameters of a GET, else a body."""
    name, test = estate.dataset.full_name, estate.names["test"]
    bodies: dict[tuple[str, str], Any] = {
        ("GET", "backtest"): {"data_test": test, **RANGE},
        ("POST", "backtest"): {"data_test": test, **RANGE},
        ("GET", "columns"): {"dataset": name},
        ("GET", "runs/bulk"): {"dataset": name, "window": "2026-03-09"},
        ("GET", "lineage"): {"dataset": name},
        ("GET", "suggestions"): {"dataset": name},
        ("GET", "suggestions/reading"): {"dataset": name},
        ("POST", "suggestions"): {"dataset": name},
        ("GET", "quality"): {"dataset": name, **RANGE},
        ("GET", "scores"): RANGE,
        ("GET", "search"): {"q": name},
        **{("GET", f"exports/{name}"): RANGE for name in EXPORTS},
        ("POST", "data-tests"): {"dataset": name, "name": "mine", "assertion": "row_count() > 0", **USUAL},
        ("POST", "templates"): _rule(estate.dataset, "new"),
        ("POST", "templates/preview"): _rule(estate.dataset, "new"),
        ("PATCH", "templates/{template}"): {"assertion": "row_count() > 5"},
        ("POST", "bindings"): {
            "pipeline": "copy", "dataset": name, "test": DataTest.objects.get(pk=str(test)).name, "gate": "weak",
        },
        ("PATCH", "bindings/{binding}"): {"gate": "strong"},
        ("PATCH", "data-tests/{test}"): {"assertion": "row_count() > 5"},
        ("PATCH", "datasets/{dataset}"): {"description": "Corrected.", "slas": {"freshness": "3h"}},
        ("PUT", "datasets/{dataset}"): _profile(estate.dataset),
        ("PUT", "business-metrics/{metric}"): {
            "owner": estate.dataset.owner, "tier": 3, "expression": "sum(fare)", "sources": [name],
        },
        ("POST", "gate"): {"datasets": [name], "window": "2026-03-09"},
        ("POST", "gate/overrides"): {"dataset": name, "window": "2026-03-09", "reason": "The report needs it."},
        ("POST", "incidents/{incident}/accept"): {"reason": "known"},
        ("POST", "incidents/{incident}/force-resolve"): {"reason": "known"},
        ("POST", "incidents/{incident}/annotations"): {"root_cause": "disk full"},
        ("POST", "incidents/{incident}/assign"): {"to": estate.dataset.owner},
        ("POST", "reports/{report}/join"): {"incident": estate.names["incident"]},
        ("POST", "lineage"): _event(estate.dataset),
        ("POST", "onboarding"): {"names": [name], "lineage": "up"},
        ("POST", "onboarding/preview"): {"names": [name], "lineage": "up"},
        ("POST", "deploys"): {"dataset": name, "version": "4f9c2d1"},
        ("PUT", "members/{member}"): {"role": "owner"},
        ("POST", "pipelines/load/completed"): {"outputs": [{"dataset": name, "window": "2026-03-09"}]},
        ("POST", "quality/bulk"): {"look_ups": [{"dataset": name, **RANGE}]},
        ("POST", "quality/query"): {"sql": f"select * from {name}"},
        ("POST", "reports"): {"dataset": name, "window": MONDAY.text, "description": "Fares doubled."},
        ("POST", "silences"): {"dataset": name, "ends_at": (NOW + HOUR).isoformat(), "reason": "Migration."},
        ("POST", "runs"): {"data_test": test, "window": "2026-03-09"},
        ("POST", "runs/bulk"): {"dataset": name, "window": "2026-03-09"},
        ("POST", "tokens"): {"name": "etl", "scopes": ["read"], "days": 1},
    }  # fmt: skip
    return bodies.get((method, template.removeprefix("api/v1/")), {})


def form(template: str, estate: Estate) -> dict[str, str]:
    if template.startswith("proposals/"):
        return {"names": estate.dataset.full_name}
    if template == "silences/new":
        return {"dataset": estate.dataset.full_name, "ends_at": "2026-03-10T13:00", "reason": "Migration."}
    if template.endswith("/override"):
        return {"window": "2026-03-09", "reason": "The report needs it."}
    if template.endswith("/correct"):
        return {"field": "tier", "value": "1"}
    if template.endswith("/report"):
        return {**PAGE_RANGE, "description": "Fares doubled."}
    if template.startswith("admin/members/"):
        return {"role": "owner", "teams": "trips", "active": "on"}
    if template == "tokens/new":
        return {"name": "etl", "scopes": "gate", "days": "7"}
    if template.endswith("/join"):
        return {"incident": str(estate.names["incident"])}
    if template.endswith("/bind"):
        return {"pipeline": "copy", "gate": "weak"}
    if template in ("templates/preview", "templates/save"):
        return {"name": "new", "assertion": "row_count() > 0", "owners": estate.dataset.owner, "severity": "soft"}
    if template == "templates/remove":
        return {"of": str(estate.names["template"])}
    if "/tests/" in template:
        return {"name": "mine", "assertion": "row_count() > 5", **USUAL}
    return {"reason": "known", "scope": "window", "text": "looked at"}


def _profile(dataset: Dataset) -> dict[str, Any]:
    return {
        "owner": dataset.owner,
        "tier": 3,
        "columns": {"id": "bigint", "datestr": "string"},
        "primary_key": ["id"],
        "partition": {"column": "datestr", "granularity": "day"},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "/lake/trips"}],
        "slas": {"freshness": "4h"},
    }


def _event(dataset: Dataset) -> Any:
    event = RunEvent(
        eventType=RunState.COMPLETE,
        eventTime=datetime.fromisoformat("2026-03-10T02:00:00+00:00").isoformat(),
        run=Run(runId=str(generate_new_uuid())),
        job=Job(namespace="airflow", name="trips"),
        producer="https://example.com/trips",
        outputs=[OutputDataset(namespace=dataset.namespace, name=dataset.name)],
    )
    return Serde.to_dict(event)
