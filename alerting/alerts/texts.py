"""What the notices of an alert say, from the rows that it stands on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.core.signing import BadSignature, Signer
from django.utils.translation import override

from alerting.channels import is_reachable
from alerting.inhibition.rules import MISSING
from alerting.inhibition.sizes import broken_columns
from alerting.models import Alert, Notice, Standing
from alerting.notices.messages import (
    ENDINGS,
    BrokenWindow,
    IncidentText,
    InhibitedAlert,
    Message,
    also_fails,
    downstream,
    ended,
    follower_message,
    led_by,
    opened,
    recovered,
    redact_incident,
    withdrawn,
)
from alerting.notices.policy import Event
from alerting.slices import explanation_of
from alerting.state import State
from alerting.titles import WorstResult, headline
from alerting.verdicts.evidence import is_hidden
from assay import clock
from assay.access import may_read, may_show
from assay.accounts import person_called
from assay.catalog.selectors import by_names, downstreams, owned, sensitive_columns
from assay.config import config
from assay.models import Dataset, DataTest, Origin, Scope
from assay.time.windows import partition_name
from execution_engine.exact import from_json as exact_number
from execution_engine.language.serialise import from_json
from execution_engine.models import Run
from execution_engine.outcome import Outcome
from execution_engine.runs.rows_samples import rows_samples
from execution_engine.runs.shown_results import HIDDEN, Veil

# Links in messages that lead to an answer: signed, so that nobody makes one up, and good for a week.
#
# A link is no right: whoever opens it signs in, and may do there what they may do anywhere else.

LIFE = timedelta(days=7)
SALT = "assay.alerting.links"


class LinkAction(StrEnum):
    """What a link leads to."""

    ACKNOWLEDGE = "acknowledge"
    MUTE = "mute"


LABELS = {LinkAction.ACKNOWLEDGE: "Acknowledge", LinkAction.MUTE: "Mute"}


class UnableToFollow(ValueError):
    """A link that is not ours, or is too old; the text says which and what to do."""


@dataclass(frozen=True, kw_only=True)
class Followed:
    """What a link says."""

    answer: LinkAction
    alert: int


def token(alert: int, answer: LinkAction, *, now: datetime) -> str:
    """What stands in the link."""
    return Signer(salt=SALT).sign_object({"a": alert, "do": answer.value, "end": int((now + LIFE).timestamp())})


def followed(text: str, *, now: datetime) -> Followed:
    """What a token says; raises UnableToFollow."""
    try:
        content = Signer(salt=SALT).unsign_object(text)
    except (BadSignature, ValueError):
        raise UnableToFollow("This link is not whole: open it again from the message.") from None
    if now.timestamp() > content["end"]:
        raise UnableToFollow(f"This link is older than {LIFE.days} days: look for the incident on its page.")
    return Followed(answer=LinkAction(content["do"]), alert=content["a"])


MOST_TESTS = 3  # of an inhibited alert that its cause's notice names
NAMING = (Event.OPENED, Event.ALSO_FAILS)  # of these the facts say which tests a recipient has read of
ANSWERS = {
    Event.OPENED: tuple(LinkAction),
    Event.ALSO_FAILS: tuple(LinkAction),
    Event.ASSIGNED: tuple(LinkAction),
    Event.UPDATED: tuple(LinkAction),
    Event.PROGRESS: tuple(LinkAction),
    Event.ACKNOWLEDGED: (LinkAction.MUTE,),
}


def text_of(alert: Alert) -> IncidentText:
    """What is known of an alert now; once closed, without the windows that are right again, which lead it still."""
    dataset, veil = alert.dataset, Veil(clock.now())
    standings = failing(alert)
    windows = tuple(_window(row, veil) for row in standings)
    inhibited = []
    for effect in effects(alert):
        rows = failing(effect)
        values = [f"{row.data_test.name}: {_window(row, veil).value}" for row in rows[:MOST_TESTS]]
        values += [f"and {len(rows) - MOST_TESTS} more"] if len(rows) > MOST_TESTS else []
        lost = [keys for row in rows if (keys := lost_keys(row)) is not None]
        inhibited.append(
            InhibitedAlert(
                dataset=effect.dataset.full_name,
                category=effect.category,
                value="; ".join(values),
                lost_keys=sum(lost) if lost else None,
            )
        )
    text = IncidentText(
        dataset=dataset.full_name,
        category=alert.category,
        tier=dataset.tier,
        owner=alert.owner,
        failed_at=alert.opened_at,
        windows=windows,
        headline=headline_of(standings, veil),
        is_owner_reached=is_reachable(alert.owner, dataset),
        inhibited=tuple(inhibited),
        eta=alert.eta,
        root_cause=alert.root_cause,
        working=alert.working,
        slices=_slices(standings, veil),
        apart=tuple(
            f"{row['category']} of {row['dataset']}: {row['reason']}"
            for row in evidence_of(alert, veil)
            if not row["explains"] and row["alert"].closed_at is None
        ),
        url=f"{config().public_url}/datasets/{dataset.full_name}",
    )
    if windows:
        return led_by(text, windows)
    return replace(text, tests=_last_named(alert, "tests"), partitions=_last_named(alert, "partitions"))


def headline_of(standings: Sequence[Standing], veil: Veil) -> str:
    """The title of what is wrong, in English, by the worst of standings that fail; empty where there are none."""
    if not standings:
        return ""
    worst = max(standings, key=badness)
    others = len({row.window for row in standings}) - 1
    with override("en"):  # whatever the language of whoever caused the message
        return headline(result_of(worst, veil, keys=_keys(worst)), others=others, is_over=False)


def badness(standing: Standing) -> tuple[float, datetime]:
    """By which the worst of standings is the largest: how far it is beyond its bound, and of two alike the newer."""
    return standing.excess or 0.0, standing.window_start


def result_of(standing: Standing, veil: Veil, *, keys: str, columns: tuple[str, ...] = ()) -> WorstResult:
    """What a title says of a standing, without what must not be told now."""
    hidden, run = is_hidden(standing, veil), standing.last_run
    broken = run if run is not None and run.outcome == Outcome.BROKEN else None
    return result_of_test(
        standing.data_test,
        keys=keys,
        value=None if hidden else standing.value,
        tree=None if hidden else standing.revision.tree,
        run=None if hidden else broken,
        columns=columns,
    )


def result_of_test(
    test: DataTest,
    *,
    keys: str,
    value: float | None,
    tree: dict[str, Any] | None,
    run: Run | None,
    columns: tuple[str, ...] = (),
) -> WorstResult:
    """The same of a test and what a run of it found; whatever is None is not told."""
    return WorstResult(
        test=test.name,
        category=test.category,
        is_standard=test.origin == Origin.GENERATED and not test.template,
        keys=keys,
        value=value,
        tree=None if tree is None else from_json(tree),
        operands={} if run is None else {text: exact_number(number) for text, number in run.operands.items()},
        findings={} if run is None else run.findings,
        columns=columns,
        datacenter=test.datacenter,
        spoils=test.spoils,
    )


def _keys(standing: Standing) -> str:
    """The partition that a title names; empty for the whole table."""
    test = standing.data_test
    return "" if test.scope == Scope.TABLE else partition_name(standing.window, test.dataset.partitioning)


def _last_named(alert: Alert, which: str) -> tuple[str, ...]:
    rows = Notice.objects.filter(alert=alert, event__in=NAMING).order_by("pk").values_list("facts", flat=True)
    return tuple(dict.fromkeys(name for facts in rows for name in facts.get(which, ())))


def message(
    event: Event, text: IncidentText, *, recipient: str, alert: Alert, now: datetime, tests: Collection[str] = ()
) -> Message:
    """The text of one event for one recipient; ``tests`` are those that they have not read of yet."""
    text = redact_for(recipient, text)
    match event:
        case Event.ALSO_FAILS:
            return also_fails(text, tests=tests)
        case Event.DOWNSTREAM:
            theirs = [d.full_name for d in readers_of(alert) if d.owner == recipient]
            return downstream(text, downstreams=theirs)
        case Event.FOLLOWED:
            return follower_message(text)
        case Event.RECOVERED:
            return recovered(text, resolved_at=now)
        case Event.WITHDRAWN if alert.closing in ENDINGS:
            return ended(text, ended_at=now, how=alert.closing)
        case Event.WITHDRAWN:
            return withdrawn(text, withdrawn_at=now)
    return opened(text)


def redact_for(recipient: str, text: IncidentText) -> IncidentText:
    """The text without the values of datasets that the recipient may not read."""
    named = by_names({text.dataset, *(effect.dataset for effect in text.inhibited)})
    limited = [owned(dataset) for dataset in named.values() if dataset.readers]
    if not limited:
        return text
    person = person_called(recipient)
    return redact_incident(text, hidden={dataset.name for dataset in limited if not may_read(person, dataset)})


def facts_of(alert: Alert, event: Event, text: IncidentText) -> dict[str, Any]:
    """What a machine reads of a notice."""
    now, base = clock.now(), f"{config().public_url}/answer"
    links = {LABELS[answer]: f"{base}/{token(alert.pk, answer, now=now)}" for answer in ANSWERS.get(event, ())}
    return {
        "event": event.value,
        "alert": alert.pk,
        "dataset": text.dataset,
        "category": text.category,
        "tier": text.tier,
        "failed_at": text.failed_at.isoformat(),
        "eta": text.eta.isoformat() if text.eta else None,
        "tests": list(text.tests),
        "partitions": list(text.partitions),
        "windows": [window.window.text for window in text.windows],
        "inhibited": [f"{effect.dataset} {effect.category}" for effect in text.inhibited],
        "url": text.url,
        **({"links": links} if links else {}),
    }


def failing(alert: Alert) -> list[Standing]:
    """The standings that an alert stands on, oldest window first."""
    rows = Standing.objects.filter(
        data_test__dataset=alert.dataset_id,
        data_test__category=alert.category,
        data_test__retired_at__isnull=True,
        state=State.FAIL.value,
        waiver__isnull=True,
    )
    joined = ("data_test__dataset", "revision", "last_run", "slice_search")
    return list(rows.select_related(*joined).order_by("window_start", "pk"))


def readers_of(alert: Alert) -> list[Dataset]:
    """The direct downstreams that may read what is broken: where columns are, only those that are made of them."""
    trees = [from_json(row.revision.tree) for row in failing(alert)]
    return downstreams(alert.dataset, broken=broken_columns(alert.category, trees))


def effects(alert: Alert) -> list[Alert]:
    """The open alerts that stay silent because of this one."""
    alerts = Alert.objects.filter(cause=alert, closed_at__isnull=True, inhibited_at__isnull=False)
    return list(alerts.select_related("dataset").order_by("pk"))


def evidence_of(alert: Alert, veil: Veil) -> list[dict[str, Any]]:
    """What might explain a value, whether it does, and why, with the alert of each.

    Why is told only where all who may read the value may read what might explain it, and nothing of both is hidden.
    """
    causes = Alert.objects.select_related("dataset").in_bulk([row["alert"] for row in alert.evidence])
    sensitive, rows = sensitive_columns(alert.dataset), []
    hides = bool(causes) and any(is_hidden(standing, veil) for standing in failing(alert))
    for row in alert.evidence:
        if cause := causes.get(row["alert"]):
            marks = sensitive | sensitive_columns(cause.dataset)
            is_told = not hides and may_show(owned(cause.dataset), owned(alert.dataset))
            is_told = is_told and marks.isdisjoint(map(str.casefold, row["columns"]))
            is_told = is_told and not any(is_hidden(standing, veil) for standing in failing(cause))
            place = {"alert": cause, "dataset": cause.dataset.full_name, "category": cause.category}
            rows.append(row | place | {"reason": row["reason"] if is_told else HIDDEN})
    return rows


def _window(row: Standing, veil: Veil) -> BrokenWindow:
    hidden = is_hidden(row, veil)
    test = row.data_test
    return BrokenWindow(
        test=test.name,
        partition=partition_name(row.window, test.dataset.partitioning, whole_table=test.scope == Scope.TABLE),
        window=row.window,
        value=HIDDEN if hidden else f"{row.sentence or f'{row.value}; {row.revision.assertion}'}{_rows(row, veil)}",
        datacenter=row.data_test.spoilt_datacenter,
        lost_keys=lost_keys(row),
        share=row.value if not hidden and row.data_test.category in MISSING and 0 <= (row.value or 0) < 1 else None,
    )


def _slices(rows: Sequence[Standing], veil: Veil) -> str:
    """Which rows explain the worst window that was looked into, where that is known."""
    searches = [row.slice_search for row in rows if hasattr(row, "slice_search")]
    worst = max(searches, key=lambda search: badness(search.standing), default=None)
    explanation = explanation_of(worst, veil) if worst else {"slices": []}
    return str(explanation["sentence"]) if explanation["slices"] else ""


def _rows(row: Standing, veil: Veil) -> str:
    """A few of the rows that broke the window, where its test keeps them."""
    samples = rows_samples({(row.data_test_id, row.window)}, veil) if row.revision.keep_rows else []
    return "".join(f". {sample.text}" for sample in samples if sample.folder)


def lost_keys(row: Standing) -> int | None:
    """How many keys the newest run found missing, where its metric counts them."""
    count = row.last_run.findings.get("lost_keys") if row.last_run else None
    return int(count) if isinstance(count, int | float) else None
